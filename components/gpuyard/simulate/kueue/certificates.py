"""Kueue's webhook certificates, kept beside the tools from one start to the next.

Kueue makes its certificates at its first start and then writes its authority into each CRD and webhook. Each
of those writes makes the API server work through all its kinds again, which is most of the time a
start takes on a busy machine. The names in the certificates are the same in every cluster and
answer on this machine only, so the first ones made serve all clusters that follow. Kueue still checks them
and makes new ones when they are too old.
"""

import json
from pathlib import Path
from typing import Final

from gpuyard.simulate.state import write_private
from gpuyard.simulate.tools import Tools

FILES: Final[frozenset[str]] = frozenset({"ca.crt", "ca.key", "tls.crt", "tls.key"})
Certificates = dict[str, str]
"""Contents by file name, in base64 as in the secret."""


def load_certificates(tools: Tools) -> Certificates:
    """The certificates of an earlier start, empty when there was none."""
    try:
        result = json.loads(_path(tools).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return result if isinstance(result, dict) and frozenset(result) == FILES else {}


def store_certificates(tools: Tools, certificates: Certificates) -> None:
    """Remember certificates; a tools folder that cannot be written only costs time."""
    if frozenset(certificates) == FILES and certificates != load_certificates(tools):
        try:
            write_private(_path(tools), json.dumps(certificates))
        except OSError:
            return


def _path(tools: Tools) -> Path:
    return tools.share.parent / "kueue-certificates.json"
