"""A team that goes: its namespace stays, with all that is its people's, unless the stack file gives it up."""

import pytest
from labs import KUEUE, PROTECTED, RAW

TALK = {"name": "talk", "borrow": {"train": 8}}


@pytest.fixture
def work(api, stack, kueue, lab, kubectl, until):
    """The platform, with a secret and a volume claim in the namespace of a team."""

    def deployed(teams):
        lab(teams=teams)
        stack.up()
        until(lambda: here(api, "Namespace", "speech"))
        size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        for made in (
            inside("Secret", "key", stringData={"token": "hush"}),
            inside("PersistentVolumeClaim", "models", spec=size),
        ):
            # the namespace's quota has just come, and may be counted at the same moment
            until(lambda made=made: api.cluster.create(made, {}))

    yield deployed
    stack.destroy()


def inside(kind, name, **body):
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "speech"},
        **body,
    }


def here(api, kind, name):
    """The object of the team, or None."""
    found = api.cluster.list("v1", kind, None if kind == "Namespace" else "speech")
    return next((one for one in found if one["metadata"]["name"] == name), None)


def test_a_team_that_goes_leaves_its_namespace_and_comes_back_to_it(stack, api, lab, work):
    work(PROTECTED)
    was = here(api, "Namespace", "speech")["metadata"]["uid"]

    lab(teams=[PROTECTED[0], TALK])
    said = stack.preview().output
    assert "delete[retain]" in said
    assert (
        "The stack file has no team speech; its namespace stays, with 1 volume claim and 1 secret in it.\n"
    ) in said
    assert "if talk is its new name, set `previous_names: [speech]` there;" in said
    assert "if it is no longer needed: kubectl delete namespace speech" in said
    stack.up()
    assert here(api, "Secret", "key")
    assert here(api, "ResourceQuota", "gpuyard") is None

    lab(teams=PROTECTED)
    failed = stack.up(fails=True).output
    assert "`gpuyard recover dev` adopts it" in failed
    assert "adopted: Namespace speech" in stack.gpuyard("recover", "dev")
    stack.up()
    stack.unchanged()
    assert here(api, "Namespace", "speech")["metadata"]["uid"] == was
    assert here(api, "PersistentVolumeClaim", "models")
    assert here(api, "ResourceQuota", "gpuyard")


def test_a_team_whose_workloads_run_is_refused_and_loses_nothing_until_they_have_ended(
    stack, api, lab, work
):
    """Kueue, whose finalizer keeps the ClusterQueue, is not here: its Workload is written as it would be."""
    work(PROTECTED)
    container = {"name": "main", "image": "registry.example.org/ml/train:1"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    pods = {"name": "main", "count": 1, "template": template}
    made = api.cluster.create(
        inside("Workload", "job-a", spec={"podSets": [pods]}) | {"apiVersion": KUEUE}, {}
    )
    admission = {"clusterQueue": "lab-speech", "podSetAssignments": [{"name": "main", "count": 1}]}
    url = f"/apis/{KUEUE}/namespaces/speech/workloads/job-a/status"
    api.cluster.request("PUT", url, made | {"status": {"admission": admission}})

    lab(teams=PROTECTED[:1])
    for refused in (stack.preview(fails=True), stack.up(fails=True)):
        assert (
            "error: The stack file has no team speech; its namespace stays, with 1 volume claim "
            "and 1 secret in it.\n      fix: wait until speech/job-a has ended, or add the team "
            "again with `stop_policy: drain`, run `pulumi up`, then remove it: its queue cannot "
            "be deleted before;"
        ) in refused.output
    assert here(api, "ResourceQuota", "gpuyard")
    assert api.cluster.list(KUEUE, "LocalQueue", "speech")

    api.cluster.delete(made, "job-a", "Background")
    stack.up()
    assert here(api, "ResourceQuota", "gpuyard") is None
    assert here(api, "Secret", "key")


def test_a_team_that_is_given_up_goes_with_all_it_has(stack, api, lab, work, until):
    """It takes two deployments: the first says that nothing is kept, the second removes the team."""
    work(PROTECTED)
    lab(teams=RAW["teams"])
    stack.up()
    lab(teams=PROTECTED[:1])
    said = stack.preview().output
    assert (
        "The stack file has no team speech; its namespace is deleted, with 1 volume claim and 1 secret in it.\n"
    ) in said
    assert "add the team again with `protect: true`" in said
    stack.up()
    until(lambda: here(api, "Namespace", "speech") is None)


# ── a namespace that was there before ─────────────────────────────────────────────────────────────
OLD = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "speech-old", "labels": {"owner": "stranger"}},
}
JOINED = {**PROTECTED[1], "namespaces": ["speech", {"name": "speech-old", "existing": True}]}


@pytest.fixture
def old(api, until):
    api.cluster.create(OLD, {})
    note = inside("Secret", "note", stringData={"of": "somebody else"})
    note["metadata"]["namespace"] = "speech-old"
    api.cluster.create(note, {})
    yield lambda: next(
        one
        for one in api.cluster.list("v1", "Namespace", None)
        if one["metadata"]["name"] == "speech-old"
    )
    api.cluster.delete(OLD, "speech-old", "Background")
    until(
        lambda: (
            not [
                one
                for one in api.cluster.list("v1", "Namespace", None)
                if one["metadata"]["name"] == "speech-old"
            ]
        )
    )


def test_a_namespace_that_was_there_is_joined_and_left_as_it_was(stack, api, lab, work, old):
    before = old()["metadata"]
    work([PROTECTED[0], JOINED])
    joined = old()["metadata"]
    assert joined["uid"] == before["uid"]
    assert (joined["labels"]["owner"], joined["labels"]["gpuyard.dev/team"]) == (
        "stranger",
        "speech",
    )
    assert [
        one["metadata"]["name"] for one in api.cluster.list("v1", "ResourceQuota", "speech-old")
    ]
    stack.unchanged()

    lab(teams=PROTECTED)
    said = stack.preview().output
    assert "Team speech has no speech-old; it stays, with " in said
    assert "gpuyard removes only what it added" in said
    stack.up()
    left = old()["metadata"]
    assert left["uid"] == before["uid"]
    assert left["labels"] == before["labels"]
    assert not left.get("annotations")
    assert api.cluster.list("v1", "ResourceQuota", "speech-old") == []
    kept = [one["metadata"]["name"] for one in api.cluster.list("v1", "Secret", "speech-old")]
    assert kept == ["note"]
    stack.unchanged()


def test_a_namespace_of_ours_that_becomes_one_that_was_there_is_let_go_and_not_deleted(
    stack, api, lab, work
):
    """Whatever `protect` says: what goes from the stack file is only that the platform made it."""
    work(RAW["teams"])
    was = here(api, "Namespace", "speech")["metadata"]["uid"]

    released = {**PROTECTED[1], "protect": False}
    released["namespaces"] = [{"name": "speech", "existing": True}]
    lab(teams=[PROTECTED[0], released])
    stack.up()
    assert here(api, "Namespace", "speech")["metadata"]["uid"] == was
    assert here(api, "PersistentVolumeClaim", "models")
    stack.unchanged()

    lab(teams=PROTECTED[:1])
    stack.up()
    assert here(api, "Namespace", "speech")["metadata"]["uid"] == was
    assert here(api, "Secret", "key")
    assert here(api, "ResourceQuota", "gpuyard") is None


def test_a_claim_of_a_class_is_never_deleted_while_its_storage_is_protected(stack, api, lab, work):
    def storage(**more):
        data = {"name": "corpus", "kind": "class", "class_name": "fast", "size_gib": 1}
        return {"datasets": [{**data, **more}]}

    lab(storage=storage())
    stack.up()
    stack.unchanged()
    was = here(api, "PersistentVolumeClaim", "corpus")["metadata"]["uid"]
    lab(storage=storage(class_name="slow"))
    assert 'persistentvolumeclaims "corpus" already exists' in stack.up(fails=True).output
    lab()
    stack.up()
    assert here(api, "PersistentVolumeClaim", "corpus")["metadata"]["uid"] == was
