"""Keys and the kubeconfig, created without a certificate tool.

The API server creates its own serving certificate; users and parts present a token; what remains is one
key that signs service account tokens. An elliptic-curve key is a random number in a wrapper (RFC 5915),
so no library is needed for it.
"""

import base64
import secrets
from pathlib import Path

import yaml

from gpuyard_core.names import SIMULATED_CONTEXT
from gpuyard_simulate.state import ClusterSettings, Folder, write_private

# Order of the curve P-256 (FIPS 186-4, D.1.2.3); a key is a number from 1 to one less.
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
# ECPrivateKey ::= SEQUENCE { version 1, privateKey OCTET STRING (32), parameters [0] prime256v1 }
_BEFORE = bytes.fromhex("30310201010420")
_AFTER = bytes.fromhex("a00a06082a8648ce3d030107")


def signing_key() -> str:
    """A new private key for service account tokens, in PEM."""
    number = 1 + secrets.randbelow(_ORDER - 1)
    body = base64.encodebytes(_BEFORE + number.to_bytes(32, "big") + _AFTER).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{body}-----END EC PRIVATE KEY-----\n"


def serving_certificate(folder: Folder) -> Path:
    """The certificate that the API server created for itself; clients trust exactly this one."""
    return folder.path / "pki" / "apiserver.crt"


def has_certificate(folder: Folder) -> bool:
    """Whether the API server has written it: on a busy machine the file exists, but is empty, for a while."""
    file = serving_certificate(folder)
    return file.exists() and file.stat().st_size > 0


def write_keys(folder: Folder, settings: ClusterSettings) -> None:
    """Write the files that the API server and the controller manager read at start; an existing key is kept."""
    key = folder.path / "pki" / "service-accounts.key"
    if not key.exists():
        write_private(key, signing_key())
    # token, user, uid, group: this user may do everything, like the first user of any cluster
    write_private(
        folder.path / "pki" / "tokens.csv", f"{settings.token},gpuyard,gpuyard,system:masters\n"
    )


def write_kubeconfig(folder: Folder, settings: ClusterSettings) -> None:
    """Write the kubeconfig; needs the serving certificate."""
    context = f"gpuyard-{folder.name}"
    certificate = base64.b64encode(serving_certificate(folder).read_bytes()).decode()
    server = f"https://127.0.0.1:{settings.ports['kube-apiserver']}"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "clusters": [
            {
                "name": context,
                "cluster": {"server": server, "certificate-authority-data": certificate},
            }
        ],
        "users": [{"name": context, "user": {"token": settings.token}}],
        "contexts": [
            {"name": name, "context": {"cluster": context, "user": context}}
            for name in (context, SIMULATED_CONTEXT)
        ],
    }
    write_private(folder.kubeconfig, yaml.safe_dump(content, sort_keys=False))
