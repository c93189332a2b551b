"""What a queue has counted is what runs: changes of kinds that are counted once, and of what waits."""

import pytest

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirements import refusals
from gpuyard.lint.kubernetes import resource
from gpuyard.names import PRIORITY_LABEL, QUEUE_LABEL
from gpuyard.rules.subjects.admission import workload
from kit.every import every

MAIN = TeamParameters(queues=("main",))
GPU = "nvidia.com/gpu"


def container(name="a", gpus=0, **more):
    limits = {"cpu": 1, **({GPU: gpus} if gpus else {})}
    return {"name": name, "image": "i", "resources": {"limits": limits}, **more}


def stateful(*containers, init=(), queue="main", **spec):
    pod = {"containers": list(containers), "initContainers": list(init)}
    template = {"metadata": {"labels": {QUEUE_LABEL: "main"}}, "spec": pod}
    labels = {QUEUE_LABEL: queue} if queue else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "x", "labels": labels},
        "spec": {"template": template, **spec},
    }


def changed(before, after, **known):
    was = workload(resource(before))
    found = workload(resource(after))
    asked = type(found)(
        found.kind, found.metadata, found.pods, suspended=found.suspended, was=was, **known
    )
    return [str(each) for each in refusals(asked, MAIN)]


GROWN = (
    "GPU-ADM-01: what pods of this StatefulSet ask of GPUs was counted when it was made, and is not counted"
    " again; delete it and make it anew with what it needs"
)
SIDECAR = {"restartPolicy": "Always"}


@every(
    ("before", "after", "refused"),
    [
        (stateful(container(gpus=1)), stateful(container(gpus=8)), True),
        (stateful(container(gpus=8)), stateful(container(gpus=1)), True),
        (stateful(container()), stateful(container(gpus=8)), True),
        (stateful(container(gpus=1)), stateful(container(gpus=1, image="j")), False),
        (stateful(container(gpus=1)), stateful(container(gpus=1), container("b")), True),
        (stateful(container()), stateful(container(), container("b")), False),
        (stateful(container(gpus=1)), stateful(container(gpus=1), replicas=0), False),
        (
            stateful(container(gpus=1), init=[container("i", gpus=1)]),
            stateful(container(gpus=1), init=[container("i", gpus=1, **SIDECAR)]),
            True,
        ),
        (
            stateful(container(gpus=1), init=[container("i", gpus=1)]),
            stateful(container(gpus=1), container("i", gpus=1)),
            True,
        ),
        (stateful(container(gpus=1), queue=""), stateful(container(gpus=8), queue=""), False),
        (stateful(container(gpus=1)), stateful(container(gpus=8), queue=""), True),
    ],
)
def test_what_is_counted_once_asks_for_the_same_ever_after(before, after, refused):
    for by_controller in (False, True):  # operators change what people tell them to
        said = changed(before, after, by_controller=by_controller)
        assert said == ([GROWN] if refused else [])


KEEPS = (
    "GPU-ADM-01: with the finalizer orphan pods of this {kind} run on when it is deleted, and no queue counts"
    " them; remove the finalizer"
)


def kept(value, finalizers=("orphan",)):
    return {**value, "metadata": {**value["metadata"], "finalizers": list(finalizers)}}


def test_a_gang_keeps_no_pods_when_it_goes():
    gang = waiting()
    said = [KEEPS.format(kind="Job")]
    for other in ("Job", "RayCluster"):
        value = kept(waiting(other, version="ray.io/v1" if other != "Job" else "batch/v1"))
        found = [str(each) for each in refusals(workload(resource(value)), MAIN)]
        assert found == [KEEPS.format(kind=other)]
    assert changed(gang, kept(gang)) == said
    assert changed(kept(gang, ["example.org/x"]), kept(gang)) == said
    assert changed(kept(gang), kept(gang)) == []
    assert changed(gang, kept(gang), by_controller=True) == []
    assert changed(gang, kept(gang, ["foregroundDeletion"])) == []
    server = stateful(container(gpus=1))
    assert changed(server, kept(server)) == []


def prioritized(name, kind="Job"):
    value = waiting(kind)
    return {
        **value,
        "metadata": {"name": "x", "labels": {PRIORITY_LABEL: name, QUEUE_LABEL: "main"}},
    }


def test_a_priority_of_others_is_not_written_into_what_is_there_and_may_stay():
    (said,) = changed(prioritized(""), prioritized("strange"))
    assert said.startswith("GPU-ADM-08: the priority strange is none of this platform")
    assert said.endswith("name a priority of the platform: it has none")
    assert changed(prioritized("strange"), prioritized("strange")) == []
    assert changed(prioritized("strange"), prioritized("")) == []


def waiting(kind="Job", version="batch/v1", queue="main", **spec):
    labels = {QUEUE_LABEL: queue} if queue else {}
    metadata = {"name": "x", "labels": labels}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        (waiting(suspend=True), waiting(suspend=False), True),
        (waiting(suspend=True), waiting(suspend=False, queue=""), True),
        (waiting(suspend=True), waiting(suspend=True), False),
        (waiting(suspend=False), waiting(suspend=True), False),
        (waiting(suspend=True, queue=""), waiting(suspend=False, queue=""), False),
        (
            waiting("MPIJob", "kubeflow.org/v2beta1", runPolicy={"suspend": True}),
            waiting("MPIJob", "kubeflow.org/v2beta1", runPolicy={"suspend": False}),
            True,
        ),
        (waiting("CronJob", suspend=True), waiting("CronJob", suspend=False), False),
    ],
)
def test_what_stands_in_a_queue_is_started_by_its_queue(before, after, refused):
    said = changed(before, after)
    assert [each.partition(";")[0] for each in said] == (
        [f"GPU-ADM-01: this {after['kind']} stands in a queue, which starts it when its turn comes"]
        if refused
        else []
    )
    assert changed(before, after, by_controller=True) == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            waiting("TrainJob", "trainer.kubeflow.org/v1alpha1", queue=""),
            "what this TrainJob runs stands elsewhere and may ask for GPUs, and it names no queue",
        ),
        (
            waiting(
                "RayCluster",
                "ray.io/v1",
                queue="",
                headGroupSpec={"template": {"spec": {"containers": [container(gpus=1)]}}},
                enableInTreeAutoscaling=True,
            ),
            "this RayCluster asks for GPUs and names no queue",
        ),
        (waiting("TrainJob", "trainer.kubeflow.org/v1alpha1"), None),
        (waiting("RayCluster", "ray.io/v1", queue=""), None),
    ],
)
def test_kinds_that_stand_for_their_pods_name_a_queue(value, said):
    found = [str(each) for each in refusals(workload(resource(value)), MAIN)]
    label = f"label it {QUEUE_LABEL}: main"
    assert found == ([f"GPU-ADM-01: {said}; {label}"] if said else [])
