"""Examples of workflows and pipelines: accepted by the CRDs, queued, and with accounts that exist."""

import os
from pathlib import Path

import pytest
import yaml

from gpuyard.render.platform import platform_objects
from gpuyard_testing import CrdFolder
from kit.levels import upstream
from kit.stacks import plan_of, platform, pool, team

EXAMPLES = Path(__file__).parents[2] / "examples"
ARGO = [*EXAMPLES.glob("1[01]-*/*.yaml")]
FILES = {file.name: list(yaml.safe_load_all(file.read_text(encoding="utf-8"))) for file in ARGO}
QUEUE = "kueue.x-k8s.io/queue-name"


def accounts():
    """Service accounts of team vision, with that of Argo's chart."""
    plan = plan_of(
        platform(
            [pool()], [team("vision", guarantee={"train": 8})], addons=["argo-workflows", "tekton"]
        )
    )
    mine = (o for o in platform_objects(plan) if o["kind"] == "ServiceAccount")
    return {o["metadata"]["name"] for o in mine if o["metadata"]["namespace"] == "vision"} | {
        "argo-workflow"
    }


def of_key(value, key):
    """Every value of a key, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == key:
                yield inner
            yield from of_key(inner, key)
    elif isinstance(value, list):
        for each in value:
            yield from of_key(each, key)


def test_there_are_three():
    assert sorted(FILES) == ["argo-workflow.yaml", "sweep.yaml", "tekton-pipeline.yaml"]


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("sweep.yaml", "argo-workflows"),
        ("argo-workflow.yaml", "argo-workflows"),
        ("tekton-pipeline.yaml", "tekton"),
    ],
)
def test_the_crds_accept_each_object(name, folder):
    given = os.environ.get("GPUYARD_UPSTREAM")
    if given and not (Path(given) / "more-crds" / folder).is_dir():
        pytest.skip(f"GPUYARD_UPSTREAM has no more-crds/{folder}")
    crds = CrdFolder(upstream("more-crds", folder))
    for each in FILES[name]:
        assert crds.violations(each) == []


def test_an_unknown_field_is_not_accepted():
    crds = CrdFolder(upstream("more-crds", "tekton"))
    task = FILES["tekton-pipeline.yaml"][0]
    wrong = {**task, "spec": {**task["spec"], "stepz": []}}
    assert [path for path, _ in crds.violations(wrong)] == ["spec.stepz"]


@pytest.mark.parametrize("name", FILES)
def test_every_account_exists(name):
    used = {*of_key(FILES[name], "serviceAccountName")}
    assert used
    assert used <= accounts()


@pytest.mark.parametrize("name", ["sweep.yaml", "argo-workflow.yaml"])
def test_every_template_with_gpus_has_a_queue_and_starts_again(name):
    (workflow,) = FILES[name]
    asking = [
        each
        for each in workflow["spec"]["templates"]
        if any("nvidia.com/gpu" in limits for limits in of_key(each.get("container"), "limits"))
    ]
    assert asking
    for each in asking:
        assert each["metadata"]["labels"][QUEUE] == "default"
        assert int(each["retryStrategy"]["limit"]) > 1


def test_a_run_of_tekton_has_the_queue_and_time_to_wait_in_it():
    *_, pipeline, run = FILES["tekton-pipeline.yaml"]
    assert run["metadata"]["labels"][QUEUE] == "default"
    assert {task["name"]: task.get("timeout") for task in pipeline["spec"]["tasks"]} == {
        "train": "24h",
        "evaluate": "4h",
        "deploy": None,
    }


def test_the_deployed_server_is_queued_and_may_load_its_weights():
    (workflow,) = FILES["argo-workflow.yaml"]
    (manifest,) = of_key(workflow, "manifest")
    deployment = yaml.safe_load(manifest)
    assert deployment["metadata"]["labels"][QUEUE] == "default"
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    probe = container["startupProbe"]
    assert probe["failureThreshold"] * probe["periodSeconds"] == 600
