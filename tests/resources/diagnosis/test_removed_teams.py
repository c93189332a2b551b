"""Namespaces of teams that are gone: what stays, what goes, and whose other name it may be."""

import asyncio

import pulumi
import pytest

from gpuyard.resources.diagnosis import removed_teams as module
from gpuyard_core.names import EXISTING_ANNOTATION, PROTECT_ANNOTATION, TEAM_LABEL
from kit.stacks import plan_of, platform, team

PLAN = plan_of(platform(teams=[team("vision"), team("talk"), team("new", previous_names=["old"])]))
WORKLOADS = "workloads.kueue.x-k8s.io"
LEFT = ["persistentvolumeclaim/models", "secret/key", "secret/token"]


class Looks:
    """Kubectl with these namespaces, and what is left and runs in each."""

    def __init__(self, *namespaces, left=LEFT, workloads=()):
        self.namespaces, self.left, self.asked = namespaces, left, []
        self.workloads = workloads

    async def get(self, *what):
        self.asked.append(what)
        if what[0] == WORKLOADS:
            return {"items": list(self.workloads)}
        return None if self.namespaces == (None,) else {"items": list(self.namespaces)}

    async def names(self, *what):
        self.asked.append(what)
        return self.left

    def command(self, *what):
        return " ".join(("kubectl", *what))


def namespace(name, *, kept=True, **metadata):
    annotations = {"annotations": {PROTECT_ANNOTATION: "true"}} if kept else {}
    return {"metadata": {"name": name, "labels": {TEAM_LABEL: name}, **annotations, **metadata}}


def said(looks):
    return [each.warning for each in asyncio.run(module.removed_team_namespaces(looks, PLAN))]


THERE = (namespace("vision"), namespace("old"))


def test_a_protected_namespace_stays_and_may_have_another_name_now():
    looks = Looks(*THERE, namespace("speech"))
    (one,) = said(looks)
    assert one == (
        "The stack file has no team speech; its namespace stays, with 1 volume claim and 2 "
        "secrets in it.\n  fix: if talk is its new name, set `previous_names: [speech]` there; if "
        "it is no longer needed: kubectl delete namespace speech"
    )
    assert looks.asked == [
        ("namespaces", "-l", "gpuyard.dev/platform=lab,gpuyard.dev/team"),
        ("persistentvolumeclaims,secrets", "-n", "speech"),
        (WORKLOADS, "-n", "speech"),
    ]


def workload(name, queue="lab-speech", finished=None):
    conditions = [{"type": "Finished", "status": finished}] if finished else []
    admission = {"clusterQueue": queue} if queue else None
    return {
        "metadata": {"name": name, "namespace": "speech"},
        "status": {"admission": admission, "conditions": conditions},
    }


def test_workloads_that_hold_the_queue_of_a_team_are_named_with_what_ends_them():
    many = [workload("pod-nb"), workload("job-a", finished="False"), workload("b", finished="True")]
    waits = [
        workload("job-c", queue=None),
        workload("of-another", queue="blue-speech"),
        {"metadata": {"name": "new", "namespace": "speech"}},
    ]
    (one,) = said(Looks(*THERE, namespace("talk"), namespace("speech"), workloads=[*many, *waits]))
    assert one == (
        "The stack file has no team speech; its namespace stays, with 1 volume claim and 2 "
        "secrets in it.\n  fix: wait until speech/job-a, speech/pod-nb have ended, or add the "
        "team again with `stop_policy: drain`, run `pulumi up`, then remove it: its queue cannot "
        "be deleted before; if it is no longer needed: kubectl delete namespace speech"
    )
    assert module.admitted_workloads(many, "lab-vision") == []
    (one,) = said(Looks(*THERE, namespace("talk"), namespace("speech"), workloads=many[:1]))
    assert "fix: wait until speech/pod-nb has ended, or add" in one


def test_one_that_is_given_up_goes_and_can_still_be_kept():
    looks = Looks(*THERE, namespace("talk"), namespace("speech", kept=False), left=["secret/key"])
    (one,) = said(looks)
    assert one == (
        "The stack file has no team speech; its namespace is deleted, with no volume claims and 1 "
        "secret in it.\n  fix: to keep it, add the team again with `protect: true` and run "
        "`pulumi up` before it is deleted"
    )


def test_where_nobody_can_look_into_it_that_is_said():
    (one,) = said(Looks(*THERE, namespace("speech"), left=None))
    assert "stays, with all objects in it" in one


def of_team(name, team, **annotations):
    return namespace(name, labels={TEAM_LABEL: team}, annotations=annotations)


def test_a_namespace_that_its_team_names_no_more_is_spoken_of_by_its_own_name():
    (one,) = said(Looks(*THERE, of_team("vision-dev", "vision", **{PROTECT_ANNOTATION: "true"})))
    assert one == (
        "Team vision has no vision-dev; it stays, with 1 volume claim and 2 secrets in it.\n  "
        "fix: if it is no longer needed: kubectl delete namespace vision-dev"
    )
    (one,) = said(Looks(*THERE, of_team("vision-dev", "vision")))
    assert one.endswith(
        "fix: to keep it, add vision-dev to its `namespaces` again with `protect: true` and run "
        "`pulumi up` before it is deleted"
    )


def test_one_that_was_there_before_stays_without_what_was_added():
    (one,) = said(Looks(*THERE, of_team("legacy", "speech", **{EXISTING_ANNOTATION: "true"})))
    assert one.startswith("The stack file has no team speech; its namespace legacy stays, with ")
    assert one.endswith("nothing: it existed before, and gpuyard removes only what it added")


@pytest.mark.parametrize(
    "namespaces",
    [(None,), (), THERE, (*THERE, namespace("speech", deletionTimestamp="2026-11-22T10:00:00Z"))],
    ids=["nobody can look", "a first up", "nobody has gone", "it goes already"],
)
def test_otherwise_nothing_is_said(namespaces):
    assert said(Looks(*namespaces)) == []


def test_a_look_that_fails_fails_nothing(monkeypatch):
    warned, debugged = [], []
    monkeypatch.setattr(pulumi.log, "warn", warned.append)
    monkeypatch.setattr(pulumi.log, "debug", debugged.append)
    assert asyncio.run(module._removal_warnings(Looks({}), PLAN)) == []
    assert debugged == ["gpuyard could not list the namespaces of removed teams: 'metadata'"]
    found = asyncio.run(module._removal_warnings(Looks(namespace("speech")), PLAN))
    assert warned == found
    assert len(found) == 1


@pytest.mark.parametrize(
    ("kept", "workloads", "refused"),
    [(True, [workload("pod-nb")], True), (False, [workload("pod-nb")], False), (True, [], False)],
)
def test_a_team_whose_workloads_run_is_refused_before_the_engine_deletes_anything(
    monkeypatch, kept, workloads, refused
):
    """Jobs of a namespace that goes end with it."""
    warned = []
    monkeypatch.setattr(pulumi.log, "warn", warned.append)
    looks = Looks(*THERE, namespace("speech", kept=kept), workloads=workloads)
    (says,) = said(looks)
    if refused:
        with pytest.raises(module.TeamInUse) as problem:
            asyncio.run(module._removal_warnings(looks, PLAN))
        assert str(problem.value) == says
    else:
        asyncio.run(module._removal_warnings(looks, PLAN))
    assert warned == ([] if refused else [says])


def test_a_program_goes_on_while_somebody_looks():
    async def looked():
        return await module.warn_removed_teams(Looks(), PLAN).future()

    assert asyncio.run(looked()) == []
