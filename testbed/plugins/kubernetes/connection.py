"""Connection to an API server: address, certificates and token from a kubeconfig.

A kubeconfig with plain certificates, a token or an exec plugin is read here in a few milliseconds.
Everything else (proxies, auth providers) is left to the `kubernetes` package, whose import alone takes half a
second of every command.
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import urllib3

from testbed.plugins.kubernetes import exec_plugins
from testbed.plugins.kubernetes.failures import Unreachable
from testbed.plugins.kubernetes.settings import ambient, named
from testbed.plugins.kubernetes.values import Object

# More than the engine ever sends at the same time on one machine.
CONNECTIONS = 64
_CLUSTER_KEYS = {
    *("server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify"),
    "extensions",
}
_USER_KEYS = {
    *("client-certificate", "client-certificate-data", "client-key", "client-key-data"),
    *("token", "exec", "extensions"),
}


@dataclass(frozen=True)
class Connection:
    """An address, a pool of connections to it, and the authorization header."""

    host: str
    pool: urllib3.PoolManager
    authorization: Callable[[], str | None]


def connect(kubeconfig: Object | None, context: str | None) -> Connection:
    """The connection of a kubeconfig, else of the ambient one. Makes no request."""
    if kubeconfig is None and os.pathsep in os.environ.get("KUBECONFIG", ""):
        return _by_client(None, context)  # several files to merge
    config = kubeconfig or ambient()
    plain = _plain(config, context or config.get("current-context"))
    return plain or _by_client(kubeconfig, context)


def _plain(config: Object, context: Any) -> Connection | None:
    chosen = named(config.get("contexts"), context, "context") or {}
    cluster = named(config.get("clusters"), chosen.get("cluster"), "cluster")
    user = named(config.get("users"), chosen.get("user"), "user") or {}
    if not cluster or not set(cluster) <= _CLUSTER_KEYS or not set(user) <= _USER_KEYS:
        return None
    try:
        tls = _tls(cluster, user) if str(cluster["server"]).startswith("https:") else None
    except (OSError, ValueError, KeyError) as error:
        raise Unreachable(f"the kubeconfig's certificates cannot be read: {error}") from error
    header = f"Bearer {user['token']}" if user.get("token") else None
    pool = urllib3.PoolManager(maxsize=CONNECTIONS, ssl_context=tls)
    if user.get("exec") and header is None:
        token = exec_plugins.Token(user["exec"], cluster)
        return Connection(str(cluster["server"]).rstrip("/"), pool, token.header)
    return Connection(str(cluster["server"]).rstrip("/"), pool, lambda: header)


def _tls(cluster: Object, user: Object) -> ssl.SSLContext:
    authority = _pem(cluster, "certificate-authority")
    tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
    if certificate and key:
        # The ssl module reads certificates from files only.
        with tempfile.TemporaryDirectory(prefix="gpuyard-") as folder:
            file = Path(folder) / "client.pem"
            file.touch(mode=0o600)
            file.write_bytes(certificate + b"\n" + key)
            tls.load_cert_chain(file)
    return tls


def _pem(holder: Object, name: str) -> bytes | None:
    if data := holder.get(f"{name}-data"):
        return base64.b64decode(data)
    return Path(holder[name]).read_bytes() if holder.get(name) else None


def _by_client(kubeconfig: Object | None, context: str | None) -> Connection:
    try:
        # Not a dependency of gpuyard: only kubeconfigs with a proxy or similar need it.
        config = import_module("kubernetes.config")
        refused = import_module("kubernetes.config.config_exception").ConfigException
    except ImportError as error:
        raise Unreachable(
            "this kubeconfig needs more than certificates, a token or a program, and the Python package"
            " `kubernetes` that could read it is not installed"
        ) from error
    try:
        if kubeconfig is not None:
            api = config.new_client_from_config_dict(
                kubeconfig, context=context, persist_config=False
            )
        else:
            api = config.new_client_from_config(context=context, persist_config=False)
    except (refused, KeyError, TypeError, ValueError) as error:
        message = (
            "unable to load Kubernetes client configuration from kubeconfig file. "
            "Make sure you have: \n\n"
            f" \t • set up the provider with a kubeconfig, or $KUBECONFIG \n\n {error}"
        )
        raise Unreachable(message) from error
    return _of_client(api)


def _of_client(api: Any) -> Connection:
    def authorization() -> str | None:
        # Requested each time: an exec plugin's token expires.
        token = api.configuration.auth_settings().get("BearerToken", {}).get("value")
        return str(token) if token else None

    return Connection(api.configuration.host, api.rest_client.pool_manager, authorization)
