"""Every object of every stack before a real API server with the real CRDs and Kueue's real webhooks.

The server is asked with strict field validation and `dryRun`: it decides as it would, and keeps nothing. Then
each kind that has a CRD is given three slips of its own, and both the server and the checks of
`gpuyard_testing` must refuse them in the same place.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import not_
from pathlib import Path
from typing import Any

import pytest
import yaml

import sizes
from gpuyard.plan import plan
from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.platform import platform_objects
from gpuyard.spec.read import read_stack_file
from gpuyard_core.catalogue.gke.classes import CLASS_API
from gpuyard_core.names import GKE_NETWORKING_GROUP
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError, Unreachable, connect
from gpuyard_testing import CrdFolder
from kit import waiting
from kit.cases.fields import covering
from kit.cluster.lab import apply, delete, patiently
from kit.generated import platforms
from kit.generated import slips as near_misses
from kit.levels import upstream

pytestmark = [pytest.mark.cluster, pytest.mark.always]

STACKS = {"local": sizes.ROOT / "stacks" / "Pulumi.local.yaml"} | {
    path.stem: path for path in sorted((sizes.ROOT / "tests" / "golden_stacks").glob("*.yaml"))
}
NAMESPACES = "/api/v1/namespaces"
STRICT = "dryRun=All&fieldValidation=Strict"
Value = dict[str, Any]


@lru_cache
def objects_of(name: str) -> tuple[Value, ...]:
    """The rendered objects of a stack; none when its proofs refuse it, which golden screens show."""
    made, _ = plan(read_stack_file(STACKS[name].read_bytes(), name).spec)
    if made is None:
        return ()
    return tuple(
        served(resolve_outputs(obj, lambda _: "known-later") for obj in platform_objects(made))
    )


def served(objects: Iterable[Value]) -> Iterator[Value]:
    """Without the kinds that GKE alone serves: this server has no definitions of them."""
    alone = (GKE_NETWORKING_GROUP, CLASS_API)
    return (obj for obj in objects if not obj["apiVersion"].startswith(alone))


def every_field() -> list[Value]:
    """Objects that have together every field that is rendered, of stacks and of made-up platforms."""
    made = [found for found, _ in map(platforms.known, platforms.KNOWN) if found is not None]
    others = (
        resolve_outputs(obj, lambda _: "known-later")
        for one in made
        for obj in platform_objects(one)
    )
    return covering([*(obj for name in STACKS for obj in objects_of(name)), *served(others)])


def samples() -> dict[tuple[str, str], Value]:
    """Of each kind that has a CRD, the object with the most in it."""
    found: dict[tuple[str, str], Value] = {}
    for name in STACKS:
        for obj in objects_of(name):
            key = (obj["apiVersion"], obj["kind"])
            if schema_of(*key) and len(str(obj)) > len(str(found.get(key, ""))):
                found[key] = obj
    return found


@lru_cache
def crds() -> CrdFolder:
    return CrdFolder(upstream("crds"))


@lru_cache
def schema_of(api_version: str, kind: str) -> Any:
    crd = crds().definition(api_version, kind)
    if crd is None:
        return None
    version = next(v for v in crd["spec"]["versions"] if v["name"] == api_version.split("/")[1])
    return version["schema"]["openAPIV3Schema"]


class Server:
    """The API server, asked for the place of a kind once."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._places: dict[str, dict[str, tuple[str, bool]]] = {}

    def collection(self, obj: Value) -> str:
        version = obj["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if root not in self._places:
            listed = self.api.call("GET", root)["resources"]
            self._places[root] = {
                one["kind"]: (one["name"], one["namespaced"])
                for one in listed
                if "/" not in one["name"]
            }
        plural, namespaced = self._places[root][obj["kind"]]
        inside = f"/namespaces/{obj['metadata']['namespace']}" if namespaced else ""
        return f"{root}{inside}/{plural}"

    def refusal(self, obj: Value) -> str | None:
        """What the server says to an object that does not exist yet; None when it would take it."""
        unlike = {"name": f"{obj['metadata']['name']}-near-miss"}
        path, sent = (
            f"{self.collection(obj)}?{STRICT}",
            obj | {"metadata": obj["metadata"] | unlike},
        )
        try:
            patiently(lambda: self.api.call("POST", path, sent))
        except ApiError as problem:
            return str(problem)
        return None

    def accept(self, obj: Value) -> None:
        path = f"{self.collection(obj)}/{obj['metadata']['name']}"
        query = f"?fieldManager=conformance&force=true&{STRICT}"
        kind = "application/apply-patch+yaml"
        patiently(lambda: self.api.call("PATCH", path + query, obj, kind))


@pytest.fixture
def server(api: Api) -> Server:
    return Server(api)


@pytest.fixture(scope="module", autouse=True)
def _namespaces(started: cluster.Outcome) -> Iterator[None]:
    """What stands in a namespace can be tried out only when that is there."""
    api = connect(Path(started.status.kubeconfig))
    objects = [obj for name in STACKS for obj in objects_of(name)] + every_field()
    names = sorted({o["metadata"].get("namespace", "default") for o in objects})
    waiting.until(
        lambda: [name for name in names if goes(api, name)],
        not_,
        what="namespaces of an earlier file to be gone",
        errors=(ApiError, Unreachable),
    )
    trainer = upstream("crds", "trainer") / "trainer.kubeflow.org_clustertrainingruntimes.yaml"
    for file in (*sorted(upstream("crds", "prometheus-operator").glob("*.yaml")), trainer):
        definition = yaml.safe_load(file.read_text(encoding="utf-8"))
        patiently(lambda each=definition: api.apply(each))
    versions = ("monitoring.coreos.com/v1", "trainer.kubeflow.org/v1alpha1")
    waiting.until(
        lambda: [
            each["kind"]
            for v in versions
            for each in (api.get(f"/apis/{v}") or {}).get("resources", ())
        ],
        {"ServiceMonitor", "PrometheusRule", "ClusterTrainingRuntime"}.issubset,
        what="the kinds of prometheus-operator and Kubeflow Trainer to be served",
        errors=(ApiError, Unreachable),
    )
    made = [
        name for name in names if patiently(lambda n=name: api.get(f"{NAMESPACES}/{n}")) is None
    ]
    for name in made:
        apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield
    for name in made:
        delete(api, f"{NAMESPACES}/{name}")
    waiting.until(
        lambda: [name for name in made if api.get(f"{NAMESPACES}/{name}")],
        not_,
        what="the namespaces made here to be gone",
        errors=(ApiError, Unreachable),
    )


def goes(api: Api, name: str) -> bool:
    """Whether a namespace is there, and will not be for long."""
    found = api.get(f"{NAMESPACES}/{name}") or {}
    return "deletionTimestamp" in found.get("metadata", {})


def refused(server: Server, objects: Iterable[Value]) -> dict[tuple[str, str], str]:
    """What the server says to those that it does not take."""
    found = {}
    for obj in objects:
        try:
            server.accept(obj)
        except ApiError as problem:
            found[obj["kind"], obj["metadata"]["name"]] = str(problem)
    return found


def test_the_server_takes_every_field_that_is_rendered_anywhere(server: Server):
    """Of kinds of its own as well: no file of ours holds their schemas."""
    objects = every_field()
    assert refused(server, objects) == {}
    own = {obj["kind"] for obj in objects if schema_of(obj["apiVersion"], obj["kind"]) is None}
    assert {"NetworkPolicy", "ResourceQuota", "ValidatingAdmissionPolicy", "CronJob"} <= own


def test_a_slip_in_a_kind_of_the_server_s_own_is_refused(server: Server):
    policy = next(obj for obj in every_field() if obj["kind"] == "NetworkPolicy")
    broken = policy | {"spec": policy["spec"] | {"egres": []}}
    # made, not applied: to a field that it does not know in an apply the server says 500, as when it is busy
    assert "egres" in (server.refusal(broken) or "")


@pytest.mark.parametrize("name", STACKS)
def test_the_server_takes_every_object_of_a_stack(name: str, server: Server):
    objects = objects_of(name)
    assert refused(server, objects) == {}
    assert {"Namespace", "ClusterQueue", "ResourceFlavor"} <= {obj["kind"] for obj in objects}


def test_both_refuse_three_slips_of_every_kind_in_the_same_place(server: Server):
    found = samples()
    assert {kind for _, kind in found} >= {"ClusterPolicy", "ClusterQueue", "Cohort", "LocalQueue"}
    told: list[str] = []
    for (version, kind), obj in found.items():
        slips = near_misses.three(schema_of(version, kind), obj)
        assert len(slips) == 3, f"{kind}: only {[s.path for s in slips]}"
        for slip in slips:
            says = server.refusal(slip.obj)
            ours = crds().violations(slip.obj) or []
            places = [path for path, _ in ours]
            if not says or not same_place(slip.path, says):
                told.append(f"{kind} {slip.kind} {slip.path}: the server says {says}")
            if not any(near(slip.path, path) for path in places):
                told.append(f"{kind} {slip.kind} {slip.path}: we say {ours}")
    assert told == []


def same_place(path: str, says: str) -> bool:
    """Whether the server's message names the field, or the one that holds it."""
    plain = re.sub(r"\[\d+\]", "", path)
    words = plain.split(".")
    named = {".".join(words[i:]) for i in range(len(words))} if len(words) > 1 else {plain}
    holder = words[:-1]
    named |= {".".join(holder[i:]) for i in range(len(holder) - 1)} if len(holder) > 1 else set()
    message = re.sub(r"\[\d+\]", "", says)
    return any(re.search(rf"[.\"' ]{re.escape(one)}\b", message) for one in named)


def near(path: str, other: str) -> bool:
    """Whether two paths are one, or one holds the other."""
    return path == other or path.rpartition(".")[0] == other or other.rpartition(".")[0] == path


def test_a_message_about_another_field_is_told_apart():
    says = (
        '422: ClusterQueue "x" is invalid: spec.preemption.reclaimWithinCohort: Unsupported value'
    )
    assert same_place("spec.preemption.reclaimWithinCohort", says)
    assert not same_place("spec.flavorFungibility.whenCanBorrow", says)
    assert not near("spec.cohortName", "spec.preemption.reclaimWithinCohort")
