"""A team that goes: its namespace stays, with all that is its people's, unless the stack file gives it up."""

import pytest
from labs import PROTECTED, RAW

TALK = {"name": "talk", "borrow": {"train": 8}}


@pytest.fixture
def work(api, stack, kueue, lab, kubectl, until):
    """The platform, with a secret and a volume claim in the namespace of a team."""

    def deployed(teams):
        lab(teams=teams)
        stack.up()
        until(lambda: here(api, "Namespace", "speech"))
        api.cluster.create(inside("Secret", "key", stringData={"token": "hush"}), {})
        size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        api.cluster.create(inside("PersistentVolumeClaim", "models", spec=size), {})

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
    assert "if talk is another name for it, write `formerly: [speech]` there;" in said
    assert "when nobody needs it: kubectl delete namespace speech" in said
    stack.up()
    assert here(api, "Secret", "key")
    assert here(api, "ResourceQuota", "gpuyard") is None

    lab(teams=PROTECTED)
    failed = stack.up(fails=True).output
    assert "fix: `gpuyard recover dev` takes it over" in failed
    assert "adopted: Namespace speech" in stack.gpuyard("recover", "dev")
    stack.up()
    stack.unchanged()
    assert here(api, "Namespace", "speech")["metadata"]["uid"] == was
    assert here(api, "PersistentVolumeClaim", "models")
    assert here(api, "ResourceQuota", "gpuyard")


def test_a_team_that_is_given_up_goes_with_all_it_has(stack, api, lab, work, until):
    """It takes two deployments: the first says that nothing is kept, the second removes the team."""
    work(PROTECTED)
    lab(teams=RAW["teams"])
    stack.up()
    lab(teams=PROTECTED[:1])
    said = stack.preview().output
    assert (
        "The stack file has no team speech; its namespace goes, with 1 volume claim and 1 secret in it.\n"
    ) in said
    assert "add the team again with `protect: true`" in said
    stack.up()
    until(lambda: here(api, "Namespace", "speech") is None)
