"""Jobs for GPUs that GKE cuts and shares: all ask for nvidia.com/gpu, and what that is their team says."""

from gpuyard_advisor.explain import Verdict
from kit.cases.explain import job, said
from kit.every import every
from kit.stacks import plan_of, platform, pool, team

PARTITION = "cloud.google.com/gke-gpu-partition-size"
PLACE = {"zones": ["us-central1-a"], "nodes": 2}


def planned(sharing, machine="a2-highgpu-8g"):
    """Whole GPUs for vision, and for speech what GKE makes of them."""
    dev = pool("dev", machine=machine, image="cos-gke", sharing=sharing, **PLACE)
    teams = [team("vision", guarantee={"train": 16}), team("speech", guarantee={"dev": 2})]
    return plan_of(platform([pool(machine="a2-highgpu-8g", **PLACE), dev], teams, cloud="gcp"))


TURNS = {"time_slicing": 4}
CUT = {"mig": {"1g.5gb": 7}}


@every(
    "sharing, machine, gpus, namespace, verdict",
    [
        (TURNS, "a2-highgpu-8g", 1, "speech", Verdict.STARTS),
        (TURNS, "a2-highgpu-8g", 2, "speech", Verdict.NEVER),
        (TURNS, "a2-highgpu-8g", 8, "vision", Verdict.STARTS),
        (TURNS, "a2-highgpu-1g", 2, "speech", Verdict.STARTS),
        ({**CUT, "time_slicing": 2}, "a2-highgpu-1g", 2, "speech", Verdict.NEVER),
        (CUT, "a2-highgpu-8g", 1, "speech", Verdict.STARTS),
        (CUT, "a2-highgpu-8g", 2, "speech", Verdict.STARTS),
    ],
)
def test_a_container_has_one_share_where_there_are_several_gpus(
    sharing, machine, gpus, namespace, verdict
):
    plan = planned(sharing, machine)
    assert said(plan, job(gpus=gpus, namespace=namespace)).verdict is verdict


def test_it_is_said_by_the_name_that_the_pod_has_and_one_is_the_change():
    found = said(planned(TURNS), job(gpus=2, namespace="speech"))
    assert found.message == (
        "the device plugin rejects its pods (UnexpectedAdmissionError): a container requests 2 "
        "nvidia.com/gpu and gets 1: several shares of a GPU give no more of it"
    )
    (change,) = found.changes
    assert (change.at, change.value) == (
        "spec.template.spec.containers[0].resources.limits.nvidia.com/gpu",
        1,
    )


def test_pods_go_to_the_pool_of_their_team_and_no_farther_than_its_quota():
    plan = planned(CUT)
    assert said(plan, job(gpus=1, pods=14, namespace="speech")).verdict is Verdict.STARTS
    assert said(plan, job(gpus=1, pods=15, namespace="speech")).verdict is Verdict.NEVER
    assert said(plan, job(gpus=1, pods=16, namespace="vision")).verdict is Verdict.STARTS


def test_gkes_own_label_is_a_selector_that_is_known():
    plan = planned(CUT)
    right, wrong = (
        said(plan, job(gpus=1, namespace="speech", nodeSelector={PARTITION: size}))
        for size in ("1g.5gb", "3g.20gb")
    )
    assert (right.verdict, wrong.verdict) == (Verdict.STARTS, Verdict.NEVER)
