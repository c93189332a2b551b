"""Runs the command line inside the test process, with streams of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kit.inprocess import Ended, run
from kit.stacks import stack_file

SWITCHES = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "GPUYARD_DEBUG")


@pytest.fixture(scope="session")
def gpuyard() -> Callable[..., Ended]:
    """The command line as a function of its arguments."""
    return run


@pytest.fixture(autouse=True)
def same_terminal(monkeypatch):
    for name in SWITCHES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    """Write a stack file: bytes, text, or a platform as a mapping, with the region of aws beside it."""

    def written(content: object, name: str = "stack.yaml", *, region: str = "") -> Path:
        path = tmp_path / name
        config = {"aws:region": region} if region else {}
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content if isinstance(content, bytes) else stack_file(content, config))
        return path

    return written


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A project with two stacks, and us in a folder below it."""
    from kit.stacks import platform, pool

    (tmp_path / "Pulumi.yaml").write_text("name: x\n", encoding="utf-8")
    stacks = tmp_path / "stacks"
    stacks.mkdir()
    (stacks / "Pulumi.prod.yaml").write_bytes(stack_file(platform()))
    (stacks / "Pulumi.test.yaml").write_bytes(stack_file(platform([pool(nodes=1)])))
    (tmp_path / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "down")
    return tmp_path
