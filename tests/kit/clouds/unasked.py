"""Objects that a mock monitor deploys exist in no cluster, so no cluster is queried for them."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def deaf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a kubectl that reaches no cluster."""
    folder = tmp_path_factory.mktemp("deaf")
    (folder / "kubectl").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (folder / "kubectl").chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def no_cluster_is_queried(deaf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real kubectl would start gcloud for a GKE cluster: five seconds of CPU and a half-minute timeout."""
    monkeypatch.setenv("PATH", str(deaf), prepend=os.pathsep)
