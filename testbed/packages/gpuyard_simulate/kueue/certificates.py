"""Kueue's webhook certificates, stored next to the tools between starts.

Kueue creates its certificates at its first start and then writes its authority into each CRD and webhook. Each
of those writes makes the API server process all its kinds again, which is most of the start time on a busy
machine. The names in the certificates are the same in every cluster and resolve to this machine only, so the
first certificates serve all later clusters. Kueue still checks them and replaces expired ones.
"""

import json
from pathlib import Path
from typing import Final

from gpuyard_simulate.state import write_private
from gpuyard_simulate.tools import Tools

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
