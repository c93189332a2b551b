"""A team of two namespaces on a real API server and Kueue, one of which was somebody else's before."""

from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError
from kit.cluster import lab as reality
from kit.cluster.queues import QueueLab, job, kueue_as_rendered
from kit.stacks import Raw, platform, pool, team

pytestmark = [pytest.mark.cluster]

OLD = "/api/v1/namespaces/two-old"
NOTE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "note", "namespace": "two-old"},
    "data": {"of": "somebody else"},
}


def two() -> Raw:
    """Eight GPUs for a team with a namespace of ours and one that is there."""
    spaces = ["two-dev", {"name": "two-old", "existing": True}]
    teams = [team("two-a", guarantee={"two": 8}, namespaces=spaces, groups=["makers"])]
    return platform([pool("two", nodes=2)], teams, name="two", cloud="simulated")


@pytest.fixture
def kueue(started: cluster.Outcome) -> Iterator[Api]:
    """Kueue as the platform sets it up, and the namespace of the stranger before the platform comes."""
    with kueue_as_rendered(started.status.name, two()) as api:
        reality.wait(lambda: api.get(OLD) is None, "the namespace of the test before to be gone")
        metadata = {"name": "two-old", "labels": {"owner": "stranger"}}
        there = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        api.call("POST", "/api/v1/namespaces", there)
        api.call("POST", f"{OLD}/configmaps", NOTE)
        yield api
        reality.delete(api, OLD)


def test_jobs_run_from_both_within_one_quota_and_what_was_there_stays(kueue: Api):
    with QueueLab(kueue, two()) as lab:
        joined = kueue.call("GET", OLD)["metadata"]["labels"]
        assert (joined["owner"], joined["gpuyard.dev/team"]) == ("stranger", "two-a")

        lab.submit("two-dev", "here", gpus=4)
        lab.submit("two-old", "there", gpus=4)
        lab.expect("two-dev", "here", "admitted")
        lab.expect("two-old", "there", "admitted")
        reality.wait(lambda: lab.running("two-old", "there") == 1, "a pod in the old namespace")

        lab.submit("two-old", "more", gpus=1)
        lab.submit("two-dev", "too", gpus=2)
        lab.expect("two-old", "more", "waits")
        lab.expect("two-dev", "too", "waits")
        lab.withdraw("two-dev", "here")
        lab.expect("two-old", "more", "admitted")
        lab.expect("two-dev", "too", "admitted")

        said = lab.explained(job("two-old", "eight", gpus=8))
        assert (said.team, said.namespace, said.verdict.value) == ("two-a", "two-old", "waits")

        sums = [
            kueue.call("GET", f"/api/v1/namespaces/{name}/resourcequotas/gpuyard")["spec"]["hard"]
            for name in ("two-dev", "two-old")
        ]
        whole = lab.plan.team("two-a").limits
        assert sum(int(hard["requests.cpu"]) for hard in sums) == whole.cpu
        assert [hard["requests.nvidia.com/gpu"] for hard in sums] == ["40", "40"]

    assert kueue.get(f"{OLD}/configmaps/note") is not None
    left = kueue.call("GET", OLD)
    assert "deletionTimestamp" not in left["metadata"]
    assert left["metadata"]["labels"]["owner"] == "stranger"
    assert kueue.get(f"{OLD}/resourcequotas/gpuyard") is None


def test_a_label_that_another_owns_is_not_taken_from_them(kueue: Api):
    """As the provider applies: without force, whoever has the level otherwise is named and kept."""
    level = {"pod-security.kubernetes.io/enforce": "privileged"}
    theirs = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "two-old", "labels": level},
    }
    patch = "application/apply-patch+yaml"
    kueue.call("PATCH", f"{OLD}?fieldManager=stranger&force=true", theirs, patch)
    mine = QueueLab(kueue, two()).objects
    (ours,) = (o for o in mine if (o["kind"], o["metadata"]["name"]) == ("Namespace", "two-old"))
    with pytest.raises(ApiError) as caught:
        kueue.call("PATCH", f"{OLD}?fieldManager=ours", ours, patch)
    assert caught.value.status == 409
    assert 'conflict with "stranger"' in str(caught.value)
    assert kueue.call("GET", OLD)["metadata"]["labels"].items() >= level.items()
