"""Where kinds keep their pods: one table for rules, classify and explain, held against the projects' CRDs."""

from functools import cache
from itertools import chain

import pytest
import yaml

from gpuyard_advisor.workloads import read_job
from gpuyard_core.findings import show_path
from gpuyard_core.manifests.fields import UNKNOWN, NotEvaluatedError
from gpuyard_core.manifests.templates import (
    EACH,
    KINDS,
    POD_KINDS,
    WORKLOADS,
    PodsForm,
    template_count_errors,
    templates_of,
    unread_kind,
    workload_kind,
)
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.subjects.pods import pods_of
from kit.levels import upstream

GPU = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [GPU]}}
INLINE = {"containers": [GPU]}
PARTS = {"image": "torch", "resourcesPerNode": GPU["resources"]}


def versioned(kind):
    group, _, name = kind.rpartition("/")
    return (f"{group}/v1" if group else "v1"), name


def filled(form):
    return {PodsForm.TEMPLATE: TEMPLATE, PodsForm.INLINE: INLINE, PodsForm.PARTS: PARTS}[form]


def put(steps, value, *, as_list=False):
    """The value at a path; every item of a list, or every value of a mapping, is one called `one`."""
    for step in reversed(steps):
        value = ([value] if as_list else {"one": value}) if step == EACH else {step: value}
    return value


def merged(one, two):
    if isinstance(one, list):
        return [merged(a, b) for a, b in zip(one, two, strict=True)]
    if not isinstance(one, dict):
        assert one == two
        return one
    both = {key: merged(one[key], two[key]) for key in one.keys() & two.keys()}
    return {**one, **two, **both}


def whole(kind):
    """An object with a pod in every place of its kind."""
    api_version, name = versioned(kind)
    found = {"apiVersion": api_version, "kind": name}
    as_list = not name.endswith(("MPIJob", "TFJob", "TorchJob", "BoostJob", "PaddleJob", "JAXJob"))
    for place in KINDS[kind].places:
        found = merged(found, put(place.at, filled(place.form), as_list=as_list))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_place_of_a_kind_is_found(kind):
    places = KINDS[kind].places
    found = list(templates_of(KINDS[kind], whole(kind)))
    assert [t.form for t in found] == [p.form for p in places]
    for place, template in zip(places, found, strict=True):
        inside = template.path[: len(place.at)]
        assert all(a in {b, 0, "one"} for a, b in zip(inside, place.at, strict=True))
        assert (PARTS if place.form is PodsForm.PARTS else INLINE).items() <= template.spec.items()


@pytest.mark.parametrize("kind", KINDS)
def test_rules_and_classify_see_the_same_pods_of_a_kind(kind):
    value = whole(kind)
    seen = list(pods_of(Resource("/".join(versioned(kind)), "x", value)))
    read = read_job(value)
    if kind == "trainer.kubeflow.org/TrainJob":
        assert [p.gpus() for p in seen] == [{"nvidia.com/gpu": 1}]
        assert [dict(p.requests) for p in read.pods] == [{"nvidia.com/gpu": 1}]
    elif not KINDS[kind].makes_pods:
        assert read is None
        asked = [p.gpus() for p in seen if p.gpus()]
        assert asked == [{"nvidia.com/gpu": 1}] * len(KINDS[kind].places)
    else:
        assert [show_path(p.field_path()) for p in seen] == [p.path for p in read.pods]
        assert [p.gpus() for p in seen] == [dict(p.requests) for p in read.pods]


HELD = {
    *("PodTemplate", "TrainingRuntime", "ClusterTrainingRuntime", "Rollout"),
    *("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow", "Workspace"),
    *(
        "LLMInferenceService",
        "LLMInferenceServiceConfig",
        "ServingRuntime",
        "ClusterServingRuntime",
    ),
    *("SparkApplication", "ScheduledSparkApplication", "HyperPodPyTorchJob"),
}
"""Kinds in which pods stand that another controller makes."""


GPU_STEP = {"image": "torch", "resources": {"limits": {"nvidia.com/gpu": 2}}}


@pytest.mark.parametrize(
    ("kind", "value", "where"),
    [
        (
            "argoproj.io/Workflow",
            {"spec": {"templates": [{"name": "dag", "dag": {}}, {"container": GPU_STEP}]}},
            ["spec.templates[1].container"],
        ),
        (
            "argoproj.io/CronWorkflow",
            {"spec": {"workflowSpec": {"templates": [{"script": GPU_STEP}]}}},
            ["spec.workflowSpec.templates[0].script"],
        ),
        (
            "argoproj.io/WorkflowTemplate",
            {"spec": {"templates": [{"containerSet": {"containers": [GPU_STEP]}}]}},
            ["spec.templates[0].containerSet.containers[0]"],
        ),
        (
            "serving.kserve.io/LLMInferenceService",
            {"spec": {"prefill": {"template": {"containers": [GPU_STEP]}}}},
            ["spec.prefill.template.containers[0]"],
        ),
        (
            "serving.kserve.io/ServingRuntime",
            {"spec": {"containers": [GPU_STEP], "workerSpec": {"pipelineParallelSize": 2}}},
            ["spec.containers[0]"],
        ),
        ("sparkoperator.k8s.io/SparkApplication", {"spec": {"driver": {"cores": 1}}}, []),
    ],
)
def test_a_container_of_a_kind_that_others_run_is_found_where_it_stands(kind, value, where):
    api_version, name = versioned(kind)
    seen = pods_of(Resource(f"{api_version}/{name}", "x", value))
    found = [(show_path(path), c) for p in seen for path, c in p.containers() if "resources" in c]
    assert [path for path, _ in found] == where
    assert all(container is GPU_STEP for _, container in found)


def test_the_two_readers_cover_all_kinds():
    names = {kind.name for kind in KINDS.values()}
    assert names == {*WORKLOADS, *HELD}
    assert not HELD & set(WORKLOADS)
    assert set(KINDS) - set(POD_KINDS) == {"trainer.kubeflow.org/TrainJob"}


@pytest.mark.parametrize(
    ("api_version", "kind", "name"),
    [
        ("batch/v1", "Job", "Job"),
        ("batch.volcano.sh/v1alpha1", "Job", "Job.batch.volcano.sh"),
        ("serving.knative.dev/v1", "Service", "Service.serving.knative.dev"),
        ("v1", "Service", None),
        (None, "Service", None),
        (None, "Job", "Job"),
        ("of.my.own/v1", "Deployment", "Deployment"),
        ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", None),
        ("v1", "PodTemplate", None),
        ("v1", ["Pod"], None),
    ],
)
def test_a_kind_is_told_by_its_group_where_another_has_its_name(api_version, kind, name):
    found = workload_kind({"kind": kind, **({"apiVersion": api_version} if api_version else {})})
    assert (found.name if found else None) == name


def pods(kind, spec):
    api_version, name = versioned(kind)
    read = read_job({"apiVersion": api_version, "kind": name, "spec": spec})
    return [(pod.path, pod.count) for pod in read.pods]


LWS = "leaderworkerset.x-k8s.io/LeaderWorkerSet"
GROUP = "spec.leaderWorkerTemplate"


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("ReplicationController", {"replicas": 3}, [("spec.template.spec", 3)]),
        ("serving.knative.dev/Service", {"replicas": 3}, [("spec.template.spec", 1)]),
        (
            "ray.io/RayCluster",
            {"headGroupSpec": {}, "workerGroupSpecs": [{"replicas": 3, "numOfHosts": 4}, {}]},
            [
                ("spec.headGroupSpec.template.spec", 1),
                ("spec.workerGroupSpecs[0].template.spec", 12),
                ("spec.workerGroupSpecs[1].template.spec", 1),
            ],
        ),
        (
            "ray.io/RayJob",
            {"submitterPodTemplate": TEMPLATE, "rayClusterSpec": {"workerGroupSpecs": [{}]}},
            [
                ("spec.rayClusterSpec.headGroupSpec.template.spec", 1),
                ("spec.rayClusterSpec.workerGroupSpecs[0].template.spec", 1),
                ("spec.submitterPodTemplate.spec", 1),
            ],
        ),
        ("ray.io/RayService", {}, [("spec.rayClusterConfig.headGroupSpec.template.spec", 1)]),
        (
            "batch.volcano.sh/Job",
            {"tasks": [{"replicas": 2}, {}]},
            [("spec.tasks[0].template.spec", 2), ("spec.tasks[1].template.spec", 1)],
        ),
        (
            "serving.kserve.io/InferenceService",
            {"predictor": {}, "transformer": INLINE},
            [("spec.predictor", 1), ("spec.transformer", 1)],
        ),
        (
            LWS,
            {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "leaderTemplate": TEMPLATE}},
            [(f"{GROUP}.leaderTemplate.spec", 2), (f"{GROUP}.workerTemplate.spec", 6)],
        ),
        (
            LWS,
            {"replicas": 2, "leaderWorkerTemplate": {"size": 4}},
            [(f"{GROUP}.workerTemplate.spec", 8)],
        ),
        (
            "jobset.x-k8s.io/JobSet",
            {
                "replicatedJobs": [
                    {"replicas": 2, "template": {"spec": {"parallelism": 3, "completions": 2}}},
                    "nothing",
                ]
            },
            [("spec.replicatedJobs[0].template.spec.template.spec", 4)],
        ),
        ("apps/Deployment", {"replicas": True}, [("spec.template.spec", 1)]),
        ("apps/Deployment", {"replicas": 10**10}, [("spec.template.spec", 1)]),
    ],
)
def test_how_many_pods_are_made_of_a_template(kind, spec, expected):
    assert pods(kind, spec) == expected


def test_a_model_server_is_a_container_of_an_inference_service_with_its_own_path():
    predictor = {"model": {"resources": {"limits": {"nvidia.com/gpu": 2}}}, "hostNetwork": True}
    value = {"spec": {"predictor": predictor}}
    (pod,) = pods_of(Resource("serving.kserve.io/v1beta1/InferenceService", "x", value))
    assert [path for path, _ in pod.containers()] == [("spec", "predictor", "model")]
    assert pod.gpus() == {"nvidia.com/gpu": 2}
    assert pod.field_path("hostNetwork") == ("spec", "predictor", "hostNetwork")


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("apps/v1/Deployment", {"template": UNKNOWN}),
        ("jobset.x-k8s.io/v1alpha2/JobSet", {"replicatedJobs": UNKNOWN}),
        ("jobset.x-k8s.io/v1alpha2/JobSet", {"replicatedJobs": [UNKNOWN]}),
        ("kubeflow.org/v1/MPIJob", {"mpiReplicaSpecs": {"Worker": UNKNOWN}}),
        ("serving.kserve.io/v1beta1/InferenceService", {"predictor": {"model": UNKNOWN}}),
    ],
)
def test_pods_that_are_not_known_yet_are_not_taken_for_none(kind, spec):
    with pytest.raises(NotEvaluatedError):
        list(pods_of(Resource(kind, "x", {"spec": spec})))


@cache
def schemas():
    """By group and kind, the schema of each served version that a project publishes."""
    folder = upstream("crds")
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.yaml")))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = {}
    for crd in chain.from_iterable(
        yaml.load_all(text, loader)
        for text in texts
        if any(f"\n    kind: {k}\n" in text for k in SHORT)
    ):
        kind = f"{crd['spec']['group']}/{crd['spec']['names']['kind']}"
        found[kind] = [
            version["schema"]["openAPIV3Schema"]
            for version in crd["spec"]["versions"]
            if version["served"]
        ]
    return found


SHORT = {kind.rpartition("/")[2] for kind in KINDS}
PUBLISHED = {
    "batch.volcano.sh/Job",
    "jobset.x-k8s.io/JobSet",
    "kubeflow.org/MPIJob",
    "trainer.kubeflow.org/ClusterTrainingRuntime",
    "trainer.kubeflow.org/TrainJob",
    "trainer.kubeflow.org/TrainingRuntime",
}


def down(schema, steps):
    for step in steps:
        schema = (
            schema.get("items") or schema["additionalProperties"]
            if step == EACH
            else schema["properties"][step]
        )
    return schema


@pytest.mark.repeats("none: it runs no line that is measured")
def test_the_places_are_those_of_the_projects_definitions():
    published = schemas()
    assert published.keys() & KINDS.keys() == PUBLISHED
    for kind in PUBLISHED:
        for schema in published[kind]:
            for place in KINDS[kind].places:
                found = down(schema, place.at)
                if place.form is PodsForm.PARTS:
                    assert {"image", "numNodes", "resourcesPerNode"} <= found["properties"].keys()
                else:
                    assert_pod_template(found)


def assert_pod_template(schema):
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        assert "properties" not in schema or "spec" in schema["properties"]
        return
    spec = schema["properties"]["spec"]
    assert {"containers", "tolerations", "nodeSelector"} <= spec["properties"].keys()


@pytest.mark.parametrize(
    ("kind", "steps", "field"),
    [
        ("jobset.x-k8s.io/JobSet", ("spec", "replicatedJobs", EACH), "replicas"),
        ("kubeflow.org/MPIJob", ("spec", "mpiReplicaSpecs", EACH), "replicas"),
        ("batch.volcano.sh/Job", ("spec", "tasks", EACH), "replicas"),
        ("trainer.kubeflow.org/TrainJob", ("spec", "trainer"), "numNodes"),
    ],
)
def test_counts_are_read_from_fields_that_the_definitions_have(kind, steps, field):
    for schema in schemas()[kind]:
        assert down(schema, steps)["properties"][field]["type"] == "integer"


# ── what controllers make up, and what wraps others ───────────────────────────────────────────────
def ray_job(**spec):
    head = {"template": {"spec": {"containers": [{"name": "head", "image": "ray:1"}]}}}
    cluster = {"headGroupSpec": head, **spec.pop("cluster", {})}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "spec": {"rayClusterSpec": cluster, **spec},
    }


def found_in(value):
    kind = workload_kind(value)
    assert kind is not None
    return [*templates_of(kind, value)]


def test_a_ray_job_is_submitted_by_a_pod_that_nobody_writes():
    head, submitter = found_in(ray_job())
    assert (head.is_written, submitter.is_written) == (True, False)
    (container,) = submitter.spec["containers"]
    assert container["image"] == "ray:1"
    assert container["resources"]["requests"] == {"cpu": "500m", "memory": "200Mi"}
    (_, headless) = found_in({"apiVersion": "ray.io/v1", "kind": "RayJob"})
    assert headless.spec["containers"][0]["image"] == ""


def test_a_template_of_the_submitter_counts_where_a_job_submits():
    own = {"spec": {"containers": [{"name": "mine"}]}}
    _, submitter = found_in(ray_job(submitterPodTemplate=own))
    assert (submitter.is_written, submitter.spec) == (True, own["spec"])
    (head,) = found_in(ray_job(submitterPodTemplate=own, submissionMode="HTTPMode"))
    assert [c["name"] for c in head.spec["containers"]] == ["head"]


def test_what_kuberay_puts_beside_the_head_counts():
    (head,) = found_in(ray_job(submissionMode="SidecarMode"))
    assert [c["name"] for c in head.spec["containers"]] == ["head", "ray-job-submitter"]
    scaled = {"enableInTreeAutoscaling": True}
    head, _ = found_in(ray_job(cluster=scaled))
    assert head.spec["containers"][1]["resources"]["requests"] == {"cpu": "500m", "memory": "512Mi"}
    own = {"requests": {"cpu": 2}}
    options = {**scaled, "autoscalerOptions": {"resources": own}}
    head, _ = found_in(ray_job(cluster=options))
    assert head.spec["containers"][1]["resources"] == own
    cluster = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": scaled}
    (head,) = found_in(cluster)
    assert not head.spec, "no head, nothing beside it"


def wrapper(*inner):
    components = [{"template": each} for each in inner]
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "spec": {"components": components},
    }


def test_what_an_app_wrapper_wraps_is_its_own():
    pods = {"containers": [{"name": "main"}]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "spec": {"parallelism": 3, "template": {"spec": pods}},
    }
    (found,) = found_in(wrapper({"kind": "Service"}, job, wrapper(job)))
    assert found.path == ("spec", "components", 1, "template", "spec", "template", "spec")
    assert (found.pod_count, found.spec) == (3, pods)


def test_kinds_that_are_not_read_say_what_to_do():
    spark = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication"}
    kind, instead = unread_kind(spark) or ("", "")
    assert kind == "SparkApplication"
    assert "explain a pod of its executors" in instead
    assert unread_kind({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}) is None
    assert unread_kind("text") is None


@pytest.mark.parametrize(
    ("written", "read", "wrong"),
    [
        (2, 2, False),
        (2.0, 2, False),
        (None, 1, False),
        ("2", 2, True),
        ("two", 1, True),
        ("-2", 1, True),
        (True, 1, True),
        (-2, 1, True),
        (1.5, 1, True),
        (float("inf"), 1, True),
        (float("nan"), 1, True),
        ([2], 1, True),
    ],
)
def test_a_number_of_pods_in_quotes_is_read_and_told(written, read, wrong):
    job = {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "spec": {"parallelism": written, "template": {}},
    }
    (template,) = templates_of(KINDS["batch/Job"], job)
    assert template.pod_count == read
    found = dict(template_count_errors(KINDS["batch/Job"], job))
    assert list(found) == ([("spec", "parallelism")] if wrong else [])


def test_numbers_inside_lists_are_told_once_each():
    part = {"replicas": "2", "template": {"spec": {"completions": "4", "template": {}}}}
    jobs = {"kind": "JobSet", "spec": {"replicatedJobs": [part]}}
    found = [path for path, _ in template_count_errors(KINDS["jobset.x-k8s.io/JobSet"], jobs)]
    first = ("spec", "replicatedJobs", 0)
    assert found == [(*first, "replicas"), (*first, "template", "spec", "completions")]
