"""Programs of this folder's tests run on a mock monitor: no cluster is asked."""

import pytest

from gpuyard.resources.component import Component
from kit.clouds.unasked import deaf, no_cluster_is_queried

__all__ = ["deaf", "no_cluster_is_queried"]


@pytest.fixture(autouse=True)
def configured_provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stack's configuration names a cluster, except in tests of providers."""
    if request.path.name not in {"test_provider.py", "test_outputs.py"}:
        monkeypatch.setattr(Component, "_is_configured", staticmethod(lambda **_: True))
