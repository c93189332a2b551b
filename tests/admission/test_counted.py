"""What a queue has counted is what runs: changes of kinds that are counted once, and of what waits."""

from dataclasses import replace

import pytest

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.queued import ELASTIC, TIME
from gpuyard_core.admission.requirements import denials
from gpuyard_core.names import PRIORITY_LABEL, QUEUE_LABEL
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import workload
from kit.every import every

IS_ELASTIC = {ELASTIC: "true"}
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
    asked = replace(found, previous=was, **known)
    return [each.summary for each in denials(asked, MAIN)]


GROWN = (
    "GPU-ADM-01: Kueue counted the GPUs of this StatefulSet at its creation and does not count a "
    "change; delete it and create it again with the GPUs that it needs"
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


def job(gpus=1, queue="main", annotations=None, version="batch/v1", gates=(), **spec):
    held = [{"name": name} for name in gates]
    template = {"spec": {"containers": [container(gpus=gpus)], "schedulingGates": held}}
    labels = {QUEUE_LABEL: queue} if queue else {}
    return {
        "apiVersion": version,
        "kind": "Job",
        "metadata": {"name": "x", "labels": labels, "annotations": annotations or {}},
        "spec": {"template": template, **spec},
    }


def elastic_job(**more):
    """A Job that Kueue counts anew when it grows."""
    return job(annotations=IS_ELASTIC, **more)


IN_TURN = {"suspend": True}
"""A Job that waits for its queue."""


def elastic(gpus=1, replicas=1, kind="Job", groups=1, gates=(ELASTIC,), **more):
    """A Job, or what is of Ray, that Kueue counts anew when it grows; with groups of workers."""
    held = [{"name": name} for name in gates]
    template = {"spec": {"containers": [container(gpus=gpus)], "schedulingGates": held}}
    ray = {"workerGroupSpecs": [{"replicas": replicas, "template": template}] * groups}
    spec = {
        "Job": {"parallelism": replicas, "template": template, "suspend": True},
        "RayCluster": ray,
        "RayJob": {"rayClusterSpec": ray},
        "Pod": template["spec"],
    }[kind]
    version = {"Job": "batch/v1", "Pod": "v1"}.get(kind, "ray.io/v1")
    metadata = {"name": "x", "labels": {QUEUE_LABEL: "main"}, "annotations": {ELASTIC: "true"}}
    return {"apiVersion": version, "kind": kind, "metadata": {**metadata, **more}, "spec": spec}


@every(
    ("before", "after", "refused"),
    [
        (elastic(), elastic(8), "Job"),
        (elastic(8), elastic(), "Job"),
        (elastic(), elastic(0), "Job"),
        (elastic(), elastic(8, annotations={}), "Job"),
        (elastic(annotations={}), elastic(8), "Job"),
        (elastic(labels={}), elastic(8), "Job"),
        (elastic(annotations={}), elastic(8, annotations={}), ""),
        (elastic(), elastic(replicas=8), ""),
        (elastic(0), elastic(0, replicas=8), ""),
        (elastic(kind="RayCluster"), elastic(8, kind="RayCluster"), "RayCluster"),
        (
            elastic(kind="RayCluster", groups=9),
            elastic(8, kind="RayCluster", groups=9),
            "RayCluster",
        ),
        (elastic(kind="RayCluster"), elastic(kind="RayCluster", groups=2), "RayCluster"),
        (elastic(kind="RayCluster"), elastic(kind="RayCluster", replicas=8), ""),
        (elastic(kind="RayJob"), elastic(8, kind="RayJob"), "RayJob"),
        (elastic(kind="Pod"), elastic(8, kind="Pod"), ""),
    ],
)
def test_pods_of_what_is_elastic_ask_for_the_same_ever_after(before, after, refused):
    """One that waits, of 1 GPU, grew to 8 and ran them with 1 counted: Kueue looks at numbers alone."""
    for by_controller in (False, True):
        told = changed(before, after, by_controller=by_controller)
        said = [each for each in told if "does not count a change" in each]
        assert said == ([GROWN.replace("StatefulSet", refused)] if refused else [])


UNGATED = (
    "GPU-ADM-01: scheduling gate kueue.x-k8s.io/elastic-job holds pods of this {kind} until Kueue "
    "counts them; without it they start uncounted; do not change spec.schedulingGates of its "
    "templates"
)
OTHERS = ("example.org/later",)


@every(
    ("before", "after", "refused"),
    [
        (elastic(), elastic(gates=()), "Job"),
        (elastic(), elastic(gates=OTHERS), "Job"),
        (elastic(gates=(*OTHERS, ELASTIC)), elastic(), ""),
        (elastic(), elastic(gates=(*OTHERS, ELASTIC)), ""),
        (elastic(gates=()), elastic(), ""),
        (elastic(0), elastic(0, gates=()), ""),
        (elastic(annotations={}), elastic(gates=(), annotations={}), ""),
        (elastic(kind="RayCluster"), elastic(kind="RayCluster", gates=()), "RayCluster"),
        (elastic(kind="Pod"), elastic(kind="Pod", gates=()), ""),
    ],
)
def test_pods_of_what_is_elastic_wait_for_their_count(before, after, refused):
    """Without the gate they ran at once: 4 GPUs with 1 counted. Kueue itself takes it out by mistake."""
    for by_controller in (False, True):
        told = changed(before, after, by_controller=by_controller)
        said = [each for each in told if "scheduling gate" in each]
        passed = by_controller and refused == "Job"  # it waits before and after
        assert said == ([UNGATED.format(kind=refused)] if refused and not passed else [])


@every(
    ("before", "after", "refused"),
    [
        (IN_TURN, {**IN_TURN, "suspend": False}, True),
        ({**IN_TURN, "suspend": False}, IN_TURN, True),
        ({**IN_TURN, "suspend": False}, {**IN_TURN, "suspend": False}, True),
        (IN_TURN, IN_TURN, False),
    ],
)
def test_kueue_keeps_the_gate_of_what_does_not_wait_on(before, after, refused):
    """Kueue takes no gate out in the change by which it starts or stops a Job."""
    changes = elastic_job(gates=[ELASTIC], **before), elastic_job(**after)
    said = [each for each in changed(*changes, by_controller=True) if "scheduling gate" in each]
    assert said == ([UNGATED.format(kind="Job")] if refused else [])


RENUMBERED = (
    "GPU-ADM-01: Kueue counted pods of this StatefulSet by their ordinals; a change would run "
    "additional pods; do not change spec.ordinals, or delete the object and create it again"
)


def numbered(start=None, gpus=1, **more):
    ordinals = {} if start is None else {"ordinals": {"start": start}}
    return stateful(container(gpus=gpus), **ordinals, **more)


@every(
    ("before", "after", "refused"),
    [
        (numbered(), numbered(1), True),
        (numbered(3), numbered(), True),
        (numbered(3), numbered(2, replicas=0), True),
        (numbered(), numbered(1, queue=""), True),
        (numbered(), numbered(0), False),
        (numbered(4), numbered(4, replicas=0), False),
        (numbered(gpus=0), numbered(5, gpus=0), False),
        (numbered(queue=""), numbered(5, queue=""), False),
        ({**numbered(), "kind": "ReplicaSet"}, {**numbered(5), "kind": "ReplicaSet"}, False),
    ],
)
def test_pods_that_were_counted_get_no_others_beside_them_with_other_numbers(
    before, after, refused
):
    for by_controller in (False, True):
        said = changed(before, after, by_controller=by_controller)
        assert said == ([RENUMBERED] if refused else [])


@every(
    ("before", "after", "pods"),
    [
        (job(), job(parallelism=2), (1, 2)),
        (job(parallelism=2, completions=4), job(parallelism=8, completions=4), (2, 4)),
        (job(parallelism=0, completions=2), job(parallelism=8, completions=2), (0, 2)),
        (job(parallelism=4, completions=1), job(parallelism=4, completions=4), (1, 4)),
        (job(parallelism=2), job(parallelism=1), None),
        (job(parallelism=2, completions=2), job(parallelism=8, completions=2), None),
        (job(), job(parallelism=2, suspend=True), None),
        (job(suspend=True), job(parallelism=2, suspend=True), None),
        (job(gpus=0), job(gpus=0, parallelism=2), None),
        (job(queue=""), job(queue="", parallelism=2), None),
        (
            job(annotations=IS_ELASTIC, gates=[ELASTIC]),
            job(annotations=IS_ELASTIC, gates=[ELASTIC], parallelism=2),
            None,
        ),
        (job(version="batch.volcano.sh/v1alpha1"), job(parallelism=2), (1, 2)),
        (job(), job(parallelism=2, version="batch.volcano.sh/v1alpha1"), None),
    ],
)
def test_a_job_that_runs_gets_no_more_pods_than_were_counted(before, after, pods):
    said = [each for each in changed(before, after) if "names no queue" not in each]
    assert not [each for each in changed(before, after, by_controller=True) if "counted" in each]
    if pods is None:
        assert said == []
    else:
        (only,) = said
        assert only == (
            f"GPU-ADM-01: this running Job was counted with pods: {pods[0]}; the change would run "
            f"{pods[1]}; set suspend: true in the same change; Kueue then counts it again and "
            "restarts it"
        )


@every(
    ("before", "after", "pods"),
    [
        (elastic_job(), elastic_job(parallelism=2), (1, 2)),
        (elastic_job(suspend=True), elastic_job(parallelism=2, suspend=True), (1, 2)),
        (elastic_job(), elastic_job(parallelism=2, suspend=True), (1, 2)),
        (elastic_job(parallelism=8, completions=1), elastic_job(parallelism=8), (1, 8)),
        (job(), elastic_job(parallelism=2), (1, 2)),
        (job(suspend=True), elastic_job(parallelism=2, suspend=True), (1, 2)),
        (elastic_job(), job(parallelism=2, suspend=True), (1, 2)),
        (elastic_job(parallelism=2), elastic_job(), None),
        (elastic_job(gpus=0), elastic_job(gpus=0, parallelism=2), None),
        (elastic_job(queue=""), elastic_job(queue="", parallelism=2), None),
        (elastic_job(gates=[ELASTIC]), elastic_job(gates=[ELASTIC], parallelism=2), None),
    ],
)
def test_an_elastic_job_without_the_gate_gets_no_more_pods_also_while_it_waits(before, after, pods):
    """Kueue starts it with what its pods are by then, and stops none that is ahead of its count."""
    said = [each for each in changed(before, after) if "no scheduling gate" in each]
    assert not [each for each in changed(before, after, by_controller=True) if "counted" in each]
    unheld = (
        "GPU-ADM-01: pods of this elastic Job have no scheduling gate: Kueue counted at most {}, "
        "and {} would run; do not change spec.parallelism and spec.completions, or delete the Job "
        "and create it again"
    )
    assert said == ([unheld.format(*pods)] if pods else [])


def part(kind, version, spec, *owner, **annotations):
    """What a controller made for something else, with the owners and annotations that it wrote."""
    owners = [dict(zip(("apiVersion", "kind", "name", "uid"), owner, strict=True))]
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {
            "name": "x",
            "ownerReferences": [{**owners[0], "controller": True}],
            "annotations": annotations,
        },
        "spec": spec,
    }


def child(parallelism=1, gpus=1, owner=("jobset.x-k8s.io/v1alpha2", "JobSet"), **annotations):
    template = {"spec": {"containers": [container(gpus=gpus)]}}
    spec = {"parallelism": parallelism, "template": template}
    return part("Job", "batch/v1", spec, *owner, "set", "u", **annotations)


def cluster_of_ray(replicas, elastic="", owner="RayJob"):
    template = {"spec": {"containers": [container(gpus=1)]}}
    spec = {"workerGroupSpecs": [{"replicas": replicas, "template": template}]}
    said = {"kueue.x-k8s.io/elastic-job": elastic} if elastic else {}
    return part("RayCluster", "ray.io/v1", spec, "ray.io/v1", owner, "set", "u", **said)


def group_of_leaders(replicas):
    found = stateful(container(gpus=1), queue="", replicas=replicas)
    owner = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "set"}
    return {**found, "metadata": {"name": "x", "ownerReferences": [{**owner, "controller": True}]}}


NOBODYS = ("example.org/v1", "Operator")


@every(
    ("before", "after", "owner"),
    [
        (child(), child(8), "Job is part of JobSet"),
        (child(8), child(), "Job is part of JobSet"),
        (child(), child(gpus=8), "Job is part of JobSet"),
        (child(), child(gpus=0), "Job is part of JobSet"),
        (child(), child(**IS_ELASTIC), "Job is part of JobSet"),
        (child(**IS_ELASTIC), child(8, **IS_ELASTIC), "Job is part of JobSet"),
        (child(), child(note="x"), ""),
        (child(gpus=0), child(8, gpus=0), ""),
        (child(owner=NOBODYS), child(8, owner=NOBODYS), ""),
        (group_of_leaders(1), group_of_leaders(2), "StatefulSet is part of LeaderWorkerSet"),
        (cluster_of_ray(1), cluster_of_ray(2), "RayCluster is part of RayJob"),
        (cluster_of_ray(1), cluster_of_ray(1, "true"), "RayCluster is part of RayJob"),
        (cluster_of_ray(1, "true"), cluster_of_ray(1), "RayCluster is part of RayJob"),
        (cluster_of_ray(1, "true"), cluster_of_ray(2, "true"), ""),
    ],
)
def test_what_was_made_for_a_whole_stays_as_its_controller_made_it(before, after, owner):
    after = {**after, "metadata": {**after["metadata"], "labels": {QUEUE_LABEL: "main"}}}
    said = (
        f"GPU-ADM-01: this {owner} set, which Kueue counted as a whole; do not change its spec; "
        f"delete {owner.rpartition(' ')[2]} set and create it again with what it needs"
    )
    # the Ray cluster of a RayJob that was made elastic is scaled by its own autoscaler
    assert changed(before, after) == ([said] if owner else [])
    assert changed(before, after, by_controller=True) == []


def test_a_pod_of_a_whole_is_no_part_that_makes_others():
    pods = [
        part("Pod", "v1", {"containers": [container(gpus=1, image=image)]}, *JOB)
        for image in ("i", "j")
    ]
    assert changed(*pods) == []


def with_pods_of(part, word, name):
    """A pod, and a Job, a CronJob and a Deployment whose pods have this label or annotation."""
    said = {"labels": {QUEUE_LABEL: "main"}, "annotations": {}}
    metadata = {"name": "x", **said, part: {**said[part], word: name}}
    template = {"metadata": metadata, "spec": {"containers": [container(gpus=1)]}}
    own = {"name": "x", "labels": {QUEUE_LABEL: "main"}}
    cron = {"metadata": {"labels": {QUEUE_LABEL: "main"}}, "spec": {"template": template}}
    pods = {"spec": {"template": template}, "metadata": own}
    return [
        {"apiVersion": "v1", "kind": "Pod", **template},
        {"apiVersion": "apps/v1", "kind": "Deployment", **pods},
        {"apiVersion": "batch/v1", "kind": "Job", **pods},
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": own,
            "spec": {"jobTemplate": cron},
        },
    ]


PREBUILT, GROUP = "kueue.x-k8s.io/prebuilt-workload-name", "kueue.x-k8s.io/pod-group-name"
JOINED = (
    "GPU-ADM-01: this {kind} names workload {name}, which Kueue counted for other pods; remove "
    "the label or annotation, or give the group a unique name"
)


@every(
    ("word", "name", "refused"),
    [
        (PREBUILT, "job-x-12345", True),
        (PREBUILT, "", False),
        (GROUP, "statefulset-x-12345", True),
        (GROUP, "leaderworkerset-x-0-12345", True),
        (GROUP, "mine", False),
        ("example.org/note", "statefulset-x-12345", False),
    ],
)
@every("part", ["labels", "annotations"])
def test_nothing_says_that_it_is_what_was_counted_for_something_else(part, word, name, refused):
    for value in with_pods_of(part, word, name):
        found = workload(resource(value))
        said = JOINED.format(kind=value["kind"], name=name)
        assert [each.summary for each in denials(found, MAIN)] == ([said] if refused else [])
        assert list(denials(replace(found, by_controller=True), MAIN)) == []
        assert changed(value, value) == []


@every("part", ["labels", "annotations"])
def test_pods_of_a_group_have_no_longest_time_of_kueue(part):
    said = (
        f"GPU-ADM-01: pods of group g set {TIME}: if its values differ, Kueue deletes their "
        "workload while they run; remove the label and set spec.activeDeadlineSeconds in the pods"
    )
    assert refused_of(with_pods_of(part, GROUP, "g")) == [[]] * 4
    values = with_pods_of(part, GROUP, "g")
    values[0]["metadata"]["labels"][TIME] = "60"  # the metadata of all four
    assert refused_of(values) == [[said]] * 4
    assert refused_of(values, by_controller=True) == [[said]] * 4
    for value in values:  # Kueue labels pods of sets that exist
        assert changed(value, value, by_controller=True) == []
    del values[0]["metadata"][part][GROUP]
    assert refused_of(values) == [[]] * 4


def refused_of(values, **known):
    found = (replace(workload(resource(value)), **known) for value in values)
    return [[each.summary for each in denials(one, MAIN)] for one in found]


def test_neither_do_jobs_nor_what_makes_them():
    said = {"labels": {PREBUILT: "job-x-1", QUEUE_LABEL: "main"}}
    job = {**waiting(), "metadata": {"name": "x", **said}}
    cron = waiting("CronJob", jobTemplate={"metadata": said, "spec": {"template": {}}})
    for value in (job, cron):
        (found,) = denials(workload(resource(value)), MAIN)
        assert found.summary == JOINED.format(kind=value["kind"], name="job-x-1")
    assert changed(waiting(), job) == [JOINED.format(kind="Job", name="job-x-1")]


JOB = ("batch/v1", "Job", "set", "u")
KEEPS = (
    "GPU-ADM-01: with the finalizer orphan, pods of this {kind} continue to run uncounted after "
    "it is deleted; remove the finalizer"
)


def kept(value, finalizers=("orphan",)):
    return {**value, "metadata": {**value["metadata"], "finalizers": list(finalizers)}}


def test_a_gang_keeps_no_pods_when_it_goes():
    gang = waiting()
    said = [KEEPS.format(kind="Job")]
    for other in ("Job", "RayCluster"):
        value = kept(waiting(other, version="ray.io/v1" if other != "Job" else "batch/v1"))
        found = [each.summary for each in denials(workload(resource(value)), MAIN)]
        assert found == [KEEPS.format(kind=other)]
    assert changed(gang, kept(gang)) == said
    assert changed(kept(gang, ["example.org/x"]), kept(gang)) == said
    assert changed(kept(gang), kept(gang)) == []
    assert changed(gang, kept(gang), by_controller=True) == []
    assert changed(gang, kept(gang, ["foregroundDeletion"])) == []
    server = stateful(container(gpus=1))
    assert changed(server, kept(server)) == []


def test_a_gang_that_is_to_go_is_kept_by_nobody_of_the_team():
    gang, stays = (
        waiting(),
        kept(waiting(), ["example.org/kept", "batch.kubernetes.io/job-tracking"]),
    )
    said = [
        f"GPU-ADM-01: with the finalizer {name}, this Job and its pods stay after its deletion, "
        "when Kueue no longer counts them; remove the finalizer"
        for name in ("example.org/kept", "batch.kubernetes.io/job-tracking")
    ]
    assert [each.summary for each in denials(workload(resource(stays)), MAIN)] == said
    assert changed(gang, stays) == said
    assert changed(kept(gang, ["example.org/kept"]), stays) == said[1:]
    assert changed(stays, gang) == changed(stays, stays) == []
    assert changed(gang, stays, by_controller=True) == []


def prioritized(name, kind="Job"):
    value = waiting(kind)
    return {
        **value,
        "metadata": {"name": "x", "labels": {PRIORITY_LABEL: name, QUEUE_LABEL: "main"}},
    }


def test_a_priority_of_others_is_not_written_into_what_is_there_and_may_stay():
    (said,) = changed(prioritized(""), prioritized("strange"))
    assert said.startswith("GPU-ADM-08: priority strange is not defined by this platform")
    assert said.endswith("set it to a priority of the platform: it has none")
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
        [f"GPU-ADM-01: this {after['kind']} is queued, and Kueue starts it once admitted"]
        if refused
        else []
    )
    assert changed(before, after, by_controller=True) == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            waiting("TrainJob", "trainer.kubeflow.org/v1alpha1", queue=""),
            (
                "this TrainJob names no queue, and the pods it runs are defined elsewhere and may "
                "request GPUs"
            ),
        ),
        (
            waiting(
                "RayCluster",
                "ray.io/v1",
                queue="",
                headGroupSpec={"template": {"spec": {"containers": [container(gpus=1)]}}},
                enableInTreeAutoscaling=True,
            ),
            "this RayCluster requests GPUs but names no queue",
        ),
        (waiting("TrainJob", "trainer.kubeflow.org/v1alpha1"), None),
        (waiting("RayCluster", "ray.io/v1", queue=""), None),
    ],
)
def test_kinds_that_stand_for_their_pods_name_a_queue(value, said):
    found = [each.summary for each in denials(workload(resource(value)), MAIN)]
    label = f"label it {QUEUE_LABEL}: main"
    assert found == ([f"GPU-ADM-01: {said}; {label}"] if said else [])
