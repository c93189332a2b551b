"""Fields next to rejected ones that the requirements of a team allow."""

from gpuyard_core.admission.host import check_volumes
from gpuyard_core.admission.owned_objects import check_non_pod_objects
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.priority_and_termination import (
    FINALIZERS,
    TRAINING,
    check_guaranteed_qos,
    check_priority_and_termination,
)
from gpuyard_core.admission.requirement import Workload
from gpuyard_core.manifests.pods import Pod
from gpuyard_core.names import CLASS_LABEL

TEAM = TeamParameters(csi_drivers=("csi.example.org",))


def pod(metadata=None, **spec):
    metadata = {"name": "x", **(metadata or {})}
    return Workload("Pod", metadata, (Pod((), metadata, spec),))


def test_an_ephemeral_container_of_training_needs_no_limits():
    debug = [{"name": "debug", "image": "busybox"}]
    training = pod({"labels": {CLASS_LABEL: TRAINING}}, ephemeralContainers=debug)
    assert list(check_guaranteed_qos(training, TEAM)) == []


def test_a_claim_template_without_the_name_of_a_volume_is_allowed():
    template = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}
    body = {"spec": {"volumeClaimTemplates": [template]}}
    assert list(check_non_pod_objects(Workload("StatefulSet", {}, (), body=body), TEAM)) == []


def test_finalizers_of_kueue_and_of_jobs_are_allowed():
    kept = pod({"finalizers": list(FINALIZERS)}, containers=[{"name": "a"}])
    assert list(check_priority_and_termination(kept, TEAM)) == []


def test_an_inline_volume_of_a_listed_driver_is_allowed():
    volume = {"name": "data", "csi": {"driver": "csi.example.org"}}
    assert list(check_volumes(pod(volumes=[volume]), TEAM)) == []
