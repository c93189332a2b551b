"""An object whose kind is not served: waited for where the program brings it, explained when it never is."""

import asyncio

import pulumi
import pytest

from gpuyard.resources import ClusterProvider, Platform
from gpuyard.resources.diagnosis import hooks
from gpuyard.resources.diagnosis.hooks import explain_error, hooks_of
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.diagnosis.missing_crds import TRIES
from gpuyard_core.names import KUEUE_GROUP, MONITORING_GROUP
from kit.stacks import platform, pool, team

FLAVOR = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ResourceFlavor",
    "metadata": {"name": "train"},
}
ERROR = (
    'creation of resource "urn" with kind kueue.x-k8s.io/v1beta2/ResourceFlavor failed because the '
    "Kubernetes API server reported that the apiVersion for this resource does not exist. "
    "Verify that any required CRDs have been created: "
    'no matches for kind "ResourceFlavor" in version "kueue.x-k8s.io/v1beta2"'
)
BROUGHT = {KUEUE_GROUP}
NO = "the server says no"


def failed(*errors, operation="create"):
    side = "old_inputs" if operation == "delete" else "new_inputs"
    return pulumi.ErrorHookArgs(
        "urn", "", "name", "type", failed_operation=operation, errors=[*errors], **{side: FLAVOR}
    )


class Cluster(Kubectl):
    """Shows these definitions; None: nobody can look."""

    def __init__(self, definitions):
        super().__init__(None, "blue")
        object.__setattr__(self, "definitions", definitions)

    async def get(self, *what):
        assert what == ("customresourcedefinitions",)
        return None if self.definitions is None else {"items": self.definitions}


def definition(served=("v1beta1", "v1beta2"), group="kueue.x-k8s.io", **conditions):
    return {
        "metadata": {"name": f"resourceflavors.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": "ResourceFlavor"},
            "versions": [{"name": v, "served": v in served} for v in ("v1beta1", "v1beta2")],
        },
        "status": {
            "conditions": [
                {"type": kind, "status": status, "message": message}
                for kind, (status, message) in conditions.items()
            ]
        },
    }


NAME = "resourceflavors.kueue.x-k8s.io"
WELL = {"NamesAccepted": ("True", "no conflicts"), "Established": ("True", "")}


# ── what is waited for ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def said(monkeypatch):
    """What the program says, in a program whose engine knows hooks."""
    found = {"info": [], "warn": []}
    monkeypatch.setattr(hooks, "monitor_supports_feature", lambda _: True)
    monkeypatch.setattr(pulumi, "ErrorHook", lambda _, callback: callback)
    for level, into in found.items():
        monkeypatch.setattr(pulumi.log, level, into.append)
    return found


def again(args, brought=BROUGHT):
    (hook,) = hooks_of("lab", Cluster([]), brought).on_error
    return asyncio.run(hook(args))


def test_a_kind_that_the_programs_own_chart_brings_is_waited_for(said):
    assert again(failed(ERROR)) is True
    assert again(failed(ERROR, ERROR)) is True
    assert said == {
        "info": [
            "the API server does not serve ResourceFlavor (kueue.x-k8s.io/v1beta2) yet, which a "
            f"chart of this program installs; retrying ({n} of {TRIES})"
            for n in (1, 2)
        ],
        "warn": [],
    }


def test_an_update_waits_too_for_a_chart_may_bring_a_new_version_of_its_kinds(said):
    assert again(failed(ERROR, operation="update")) is True


def test_the_wait_has_an_end_and_the_end_says_what_was_waited_for(said):
    assert again(failed(*[ERROR] * (TRIES - 1))) is True
    assert again(failed(*[ERROR] * TRIES)) is False
    (warned,) = said["warn"]
    assert warned.startswith(
        "ResourceFlavor train was not created: the API server does not serve ResourceFlavor "
        f"(kueue.x-k8s.io/v1beta2), after {TRIES} tries.\n"
    )


@pytest.mark.parametrize(
    ("args", "brought"),
    [
        (failed(ERROR), set()),
        (failed(ERROR), {"nvidia.com"}),
        (failed(ERROR, operation="delete"), BROUGHT),
        (failed(NO), BROUGHT),
        (failed(NO, ERROR), BROUGHT),
        (failed(), BROUGHT),
    ],
    ids=["nobodys", "anothers", "delete", "other-error", "other-error-now", "no-error"],
)
def test_nothing_else_is_tried_again(said, args, brought):
    assert again(args, brought) is False
    assert said["info"] == []


def test_an_existing_prometheus_without_its_crds_is_told_with_what_installs_them():
    error = ERROR.replace("ResourceFlavor", "ServiceMonitor").replace(
        "kueue.x-k8s.io/v1beta2", "monitoring.coreos.com/v1"
    )
    text = asyncio.run(explain_error(Cluster([]), failed(error), set()))
    assert text.splitlines()[1:] == [
        "  the cluster has no CRD for it",
        (
            "  fix: install the CRD first; gpuyard installs prometheus-operator with"
            " `observability: {prometheus: install}`"
        ),
    ]
    other = error.replace("monitoring.coreos.com", "example.org")
    text = asyncio.run(explain_error(Cluster([]), failed(other), set()))
    assert text.splitlines()[-1] == "  fix: install the CRD first"


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("trainer.kubeflow.org", "[kubeflow-trainer]"),
        ("argoproj.io", "[argo-workflows] or [argo-cd]"),
        ("operator.tekton.dev", "[tekton]"),
    ],
)
def test_a_kind_of_an_add_on_names_the_add_on(group, names):
    error = ERROR.replace("ResourceFlavor", "Thing").replace(
        "kueue.x-k8s.io/v1beta2", f"{group}/v1"
    )
    text = asyncio.run(explain_error(Cluster([]), failed(error), set()))
    assert text.splitlines()[-1] == (
        f"  fix: install the CRD first; gpuyard installs it with `addons: {names}`"
    )


@pytest.mark.parametrize("addons", [[], ["tekton", "keda"]])
def test_the_kinds_of_installed_add_ons_are_waited_for(pulumi_mocks, addons):
    made = []

    def program():
        made.append(ClusterProvider("blue", "blue", context="blue"))
        raw = platform([pool()], queueing={"install": False}, addons=addons)
        Platform("lab", {"platform": raw}, pulumi.ResourceOptions(providers=made))

    pulumi_mocks.run(program)
    expected = {"tekton.dev", "operator.tekton.dev", "keda.sh"} if addons else set()
    assert made[0].chart_api_groups == expected


@pytest.mark.parametrize("prometheus", ["install", "existing"])
def test_the_kinds_of_the_installed_prometheus_are_waited_for(pulumi_mocks, prometheus):
    made = []

    def program():
        made.append(ClusterProvider("lab", "lab"))
        raw = platform([pool()], [team()], observability={"prometheus": prometheus})
        Platform("lab", {"platform": raw}, pulumi.ResourceOptions(providers=made))

    pulumi_mocks.run(program)
    assert (MONITORING_GROUP in made[0].chart_api_groups) is (prometheus == "install")


@pytest.mark.parametrize("install", [True, False])
def test_the_program_brings_kueues_kinds_where_it_installs_kueue(pulumi_mocks, install):
    made = []

    def program():
        made.append(ClusterProvider("lab", "lab"))
        raw = platform([pool()], [team()], queueing={"install": install})
        Platform("lab", {"platform": raw}, pulumi.ResourceOptions(providers=made))

    pulumi_mocks.run(program)
    assert made[0].chart_api_groups == (BROUGHT if install else set())


# ── what is said when it never comes ──────────────────────────────────────────────────────────────

LOOK = "kubectl --context blue get --raw /apis/kueue.x-k8s.io/v1beta2"
AGAIN = f"  fix: run the same command again when this shows the kind: {LOOK}"
INSTALL = (
    "  fix: install the CRD first; gpuyard installs Kueue unless the stack file sets `queueing: "
    "{install: false}`"
)


@pytest.mark.parametrize(
    ("definitions", "brought", "lines"),
    [
        (None, BROUGHT, [AGAIN]),
        (None, set(), [INSTALL]),
        ([], BROUGHT, ["  the cluster has no CRD for it", AGAIN]),
        ([], set(), ["  the cluster has no CRD for it", INSTALL]),
        (
            [definition(group="example.org", **WELL)],
            set(),
            ["  the cluster has no CRD for it", INSTALL],
        ),
        ([definition(**WELL)], BROUGHT, [AGAIN]),
        ([definition(**WELL)], set(), [AGAIN]),
        (
            [definition(served=["v1beta1"], **WELL)],
            BROUGHT,
            ["  CRD resourceflavors.kueue.x-k8s.io serves v1beta1", AGAIN],
        ),
        (
            [definition(served=[], **WELL)],
            BROUGHT,
            ["  CRD resourceflavors.kueue.x-k8s.io serves no version", AGAIN],
        ),
        (
            [
                definition(
                    NamesAccepted=("False", '"rf" is taken'), Established=("False", "not yet")
                )
            ],
            BROUGHT,
            [
                '  CRD resourceflavors.kueue.x-k8s.io is not NamesAccepted: "rf" is taken',
                "  CRD resourceflavors.kueue.x-k8s.io is not Established: not yet",
                AGAIN,
            ],
        ),
        (
            [definition(NamesAccepted=("True", ""))],
            BROUGHT,
            [
                f"  CRD {NAME} is not Established: the API server has not reported it yet",
                AGAIN,
            ],
        ),
    ],
    ids=[
        "no-look-ours",
        "no-look",
        "none-ours",
        "none",
        "anothers",
        "served-late-ours",
        "served-late",
        "old",
        "none-served",
        "names",
        "silent",
    ],
)
def test_what_holds_a_kind_up_is_said_with_what_to_do(definitions, brought, lines):
    text = asyncio.run(explain_error(Cluster(definitions), failed(ERROR), brought))
    assert text.splitlines()[1:] == lines
