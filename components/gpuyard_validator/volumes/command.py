"""The command line: volumes are read by a pod that has them."""

from collections.abc import Sequence

from gpuyard_validator.host import Host
from gpuyard_validator.spoken import Small
from gpuyard_validator.volumes.checks import VOLUMES, judge
from gpuyard_validator.volumes.measure import find_out
from gpuyard_validator.volumes.record import read_seen, read_wanted


def main(arguments: Sequence[str] | None = None) -> int:
    """0 passed, 1 failed, 3 it cannot run."""
    program = Small(
        name="volumes",
        doc=__doc__,
        expect="/expectations/volumes.json",
        checks=VOLUMES,
        where="storage, one node of a pool",
        read_wanted=read_wanted,
        read_seen=read_seen,
        find_out=lambda _, wanted: find_out(wanted, Host().node()),
        judge=judge,
    )
    return program.main(arguments)
