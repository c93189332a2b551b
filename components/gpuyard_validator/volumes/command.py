"""The command line of the volume probe, which a pod runs on its volumes."""

from collections.abc import Sequence

from gpuyard_validator.host import Host
from gpuyard_validator.probe import ValidatorCommand
from gpuyard_validator.volumes.checks import VOLUMES, judge
from gpuyard_validator.volumes.measure import measure_volumes
from gpuyard_validator.volumes.record import read_expectations, read_observation


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 passed, 1 failed, 3 cannot run."""
    program = ValidatorCommand(
        name="volumes",
        doc=__doc__,
        expect="/expectations/volumes.json",
        checks=VOLUMES,
        where="storage, one node of a pool",
        read_wanted=read_expectations,
        read_seen=read_observation,
        measure=lambda _, wanted: measure_volumes(wanted, Host().node()),
        judge=judge,
    )
    return program.main(arguments)
