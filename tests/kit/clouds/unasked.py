"""What a mock monitor deploys is nowhere: nobody asks a cluster for it."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def deaf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a kubectl that reaches nobody."""
    folder = tmp_path_factory.mktemp("deaf")
    (folder / "kubectl").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (folder / "kubectl").chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def nobody_is_asked(deaf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real one would start gcloud for a cluster of Google: five seconds of CPU, half a minute in vain."""
    monkeypatch.setenv("PATH", str(deaf), prepend=os.pathsep)
