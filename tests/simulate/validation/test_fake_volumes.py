"""Pods that read volumes on fake nodes: claims and volumes are real objects, and say how fast they are."""

import json
from typing import Any

import pytest

from gpuyard.render.validation.volumes import volumes_text
from gpuyard.render.validation.work import work_objects
from gpuyard_simulate.agents.hardware import MACHINE_LABEL
from gpuyard_simulate.validation.pods import FakeValidator, is_running_validator
from gpuyard_simulate.validation.volumes import READS, is_reading, read_text
from kit.stacks import plan_of, platform, pool

DATA = [
    {"name": "corpus", "kind": "bucket", "bucket": "our-corpus"},
    {"name": "home", "kind": "efs", "read_mb_per_s": 200},
]
PLAN = plan_of(
    platform(
        [pool(nodes=1)],
        cloud="simulated",
        validation={"image": "x", "profile": "full"},
        storage={"datasets": DATA},
    )
)
JOB = work_objects(PLAN)[-1]
EXPECTED = volumes_text(PLAN, PLAN.pools[0])
SPACE = "/api/v1/namespaces/gpuyard-lab"


def pod() -> dict[str, Any]:
    metadata = {"name": "read-0", "namespace": "gpuyard-lab", "uid": "1"}
    spec = JOB["spec"]["template"]["spec"] | {"nodeName": "train-000"}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def node(machine: str = "p5.48xlarge") -> dict[str, Any]:
    return {"metadata": {"name": "train-000", "labels": {MACHINE_LABEL: machine}}}


class FakeApi:
    """Claims that are bound to a volume each; `said`: what that says, None where there is none."""

    def __init__(self, **said: str | None) -> None:
        self.said: dict[str, str | None] = {"corpus": "", "home": "", **said}
        self.patches: list[Any] = []

    def get(self, path: str) -> Any:
        if "configmaps" in path:
            return {"data": {"volumes.json": EXPECTED}}
        kind, name = path.rsplit("/", 2)[1:]
        if kind == "persistentvolumeclaims":
            assert path.startswith(SPACE)
            there = self.said[name] is not None
            return {"spec": {"volumeName": f"lab.{name}"} if there else {}}
        assert path == f"/api/v1/persistentvolumes/{name}"
        said = self.said[name.removeprefix("lab.")]
        return {"metadata": {"annotations": {READS: said} if said else None}}

    def patch(self, path: str, change: Any) -> None:
        assert path == f"{SPACE}/pods/read-0/status"
        self.patches.append(change["status"])


def ended(api: FakeApi) -> tuple[str, str]:
    made = FakeValidator(api, lambda _: node(), lambda _: None)  # type: ignore[arg-type]  a stand-in
    made.check(pod())
    (said,) = api.patches
    return said["phase"], said["containerStatuses"][0]["state"]["terminated"]["message"]


def test_a_pod_that_reads_is_one_of_the_checks():
    assert is_running_validator(pod())
    assert is_reading(pod())
    assert not is_reading({"spec": {"containers": [{}]}})


def test_a_volume_that_says_nothing_is_as_fast_as_the_network_of_its_node():
    phase, words = ended(FakeApi())
    assert phase == "Succeeded"
    assert words.splitlines()[0] == "passed: node train-000, pool train: 2 checks ran, 0 failed"
    row = {"min": 400000.0, "max": 400000.0, "floor": 340.0, "unit": "MB/s", "source": 0}
    assert json.loads(words.splitlines()[-1])["checks"]["storage.read.corpus"] == row
    bare = {"metadata": {"name": "n"}}
    seen = json.loads(read_text(FakeApi(), bare, pod(), EXPECTED))  # type: ignore[arg-type]
    assert seen == {"node": "n", "reads": {"corpus": 1250.0, "home": 1250.0}}


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (
            "199.5",
            "fail: storage.read on home: the read rate is below its threshold; value 199.5, threshold 200",
        ),
        ("empty", "required and skip: storage.read on home: not run: the volume is empty"),
        (None, "storage.read on home: not run: cannot be read: the claim home has no volume"),
        ("fast", "storage.read on home: not run: reads.home: must be of type number, not 'fast'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_volume_shows(said: str | None, says: str):
    phase, words = ended(FakeApi(home=said))
    assert phase == "Failed"
    assert says in words


def test_what_is_not_mounted_cannot_be_read():
    bare = pod()
    bare["spec"] = bare["spec"] | {"volumes": bare["spec"]["volumes"][:3]}
    seen = json.loads(read_text(FakeApi(), node(), bare, EXPECTED))  # type: ignore[arg-type]
    assert seen["reads"]["home"]["detail"] == "cannot be read: nothing is mounted at /volumes/home"
    assert seen["reads"]["corpus"] == 400000.0


@pytest.mark.parametrize("text", ["{", "{}", '{"readings": 1}', '{"readings": [1]}'])
def test_a_document_that_is_none_is_the_programs_to_refuse(text: str):
    seen = json.loads(read_text(FakeApi(), node(), pod(), text))  # type: ignore[arg-type]
    assert seen["reads"] == {}
