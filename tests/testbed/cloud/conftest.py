"""An account with an API server behind it, both only for the test."""

from pathlib import Path

import pytest
from testbed.plugins.cloud.inside import joining

from kit.clouds.api_server import Server, fresh, put_behind


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> type[Server]:
    made = fresh()
    monkeypatch.setattr(joining, "Api", made)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return put_behind(tmp_path)
