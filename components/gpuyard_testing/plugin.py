"""The pytest plugin: the fixture `pulumi_mocks`. Loading it imports nothing but pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gpuyard_testing.runner import StackRunner


@pytest.fixture
def pulumi_mocks() -> StackRunner:
    """Run Pulumi programs on the strict mock monitor: `graph = pulumi_mocks.run(program)`."""
    # Importing Pulumi takes 0.15 s: only for tests that use it.
    from gpuyard_testing.runner import StackRunner

    return StackRunner()
