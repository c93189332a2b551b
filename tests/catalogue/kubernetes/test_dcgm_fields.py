"""Names like those of DCGM's fields that none of its releases has."""

from gpuyard_core.catalogue.kubernetes.dcgm_fields import is_no_field
from gpuyard_core.catalogue.metrics import DCGM, metrics_of
from kit.every import every


@every(
    ("metric", "invented"),
    [
        ("DCGM_FI_DEV_GPU_UTILIZATION", True),
        ("DCGM_FI_DEV_MEM_USED", True),
        ("DCGM_FI_DEV_SM_ACTIVE", True),  # one of profiling
        ("DCGM_FI_PROF_SM_ACTIVE", False),
        ("DCGM_FI_DEV_NVLINK_BANDWIDTH_L5", False),
        ("DCGM_FI_DEV_FAN_SPEED_RATIO", False),  # of DCGM 4.6
        # somebody made it of a field
        ("DCGM_FI_DEV_GPU_UTIL_MAX", False),
        ("DCGM_FI_DEV_GPU_per_second", False),
        ("DCGM_EXP_XID_ERRORS_COUNT", False),
        ("DCGM_FI_SYSTEM_X", False),
        ("dcgm_gpu_utilization", False),
    ],
)
def test_what_dcgm_never_had(metric, invented):
    assert is_no_field(metric) is invented


def test_dcgm_has_what_its_exporter_serves():
    assert [name for name in metrics_of(DCGM) if is_no_field(name)] == []
