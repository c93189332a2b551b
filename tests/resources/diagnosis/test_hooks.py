"""What the program adds to an error of the provider: whose a name is, what holds a namespace."""

import asyncio
import os
import stat
from pathlib import Path

import pulumi
import pytest

from gpuyard.resources import ClusterProvider, Platform
from gpuyard.resources.diagnosis import hooks
from gpuyard.resources.diagnosis.hooks import (
    conditions,
    explain_error,
    hooks_of,
    remaining_kinds,
    remaining_objects,
    stuck_namespace_message,
)
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.diagnosis.ownership import field_managers, owner_of
from kit.components import LAB

AT = "2026-10-01T10:00:00Z"
NOBODY = "Its metadata names no owner"
SAME = (
    "a platform of the same name, lab (label gpuyard.dev/platform): another stack deploys it, or "
    "the object is missing from this stack's state"
)


def live(labels=None, annotations=None, **more):
    return {
        "kind": "ClusterQueue",
        "metadata": {"labels": labels, "annotations": annotations, **more},
    }


def wrote(manager, at=AT, **more):
    return {"manager": manager, "operation": "Apply", "time": at, **more}


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (live({"gpuyard.dev/platform": "west"}), "platform west of GPU Yard (label gpuyard.dev/platform)"),
        (
            live({"gpuyard.dev/platform": "lab"}),
            SAME,
        ),
        (
            live(
                {"app.kubernetes.io/managed-by": "Helm"},
                {"meta.helm.sh/release-name": "queues", "meta.helm.sh/release-namespace": "batch"},
            ),
            "Helm release batch/queues (annotation meta.helm.sh/release-name)",
        ),
        (
            live({"app.kubernetes.io/managed-by": "terraform"}),
            "terraform (label app.kubernetes.io/managed-by)",
        ),
        (
            live(None, {"argocd.argoproj.io/tracking-id": "batch:kueue.x-k8s.io/ClusterQueue:x/y"}),
            "Argo CD application batch (annotation argocd.argoproj.io/tracking-id)",
        ),
        (
            live({"argocd.argoproj.io/instance": "batch"}),
            "Argo CD application batch (label argocd.argoproj.io/instance)",
        ),
        (
            live(
                {
                    "kustomize.toolkit.fluxcd.io/name": "apps",
                    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
                }
            ),
            "Flux Kustomization flux-system/apps (label kustomize.toolkit.fluxcd.io/name)",
        ),
        (
            live({"helm.toolkit.fluxcd.io/name": "apps"}),
            "Flux HelmRelease apps (label helm.toolkit.fluxcd.io/name)",
        ),
        (
            live(ownerReferences=[{"kind": "Tenant", "name": "oil"}]),
            "Tenant oil (owner reference)",
        ),
    ],
)  # fmt: skip
def test_what_an_object_says_of_its_owner(obj, says):
    assert owner_of(obj, "lab") == f"It belongs to {says}."


def test_several_owners_are_all_named():
    both = live({"gpuyard.dev/platform": "west", "app.kubernetes.io/managed-by": "Pulumi"})
    assert "platform west" in owner_of(both)
    assert "Pulumi (label" in owner_of(both)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "Its metadata names no owner."),
        ({"creationTimestamp": AT}, f"Its metadata names no owner; it was created at {AT}."),
        (
            {"managedFields": [wrote("kueue", subresource="status")], "creationTimestamp": AT},
            f"Its metadata names no owner; it was created at {AT}.",
        ),
        (
            {"managedFields": [wrote("anna", "2026-09-01T10:00:00Z"), wrote("kubectl-edit")]},
            f"{NOBODY}; last written by kubectl-edit at {AT}, before that by anna (managedFields).",
        ),
        (
            {"managedFields": [{"manager": "old"}]},
            "Its metadata names no owner; last written by old (managedFields).",
        ),
    ],
)
def test_without_a_sign_whoever_wrote_it_is_named(more, says):
    assert owner_of(live(**more)) == says


def test_writers_are_the_managers():
    assert field_managers(live(managedFields=[wrote("a"), wrote("a"), wrote("b")])) == {"a", "b"}
    assert field_managers({}) == set()


def condition(kind, message, status="True"):
    return {"type": kind, "status": status, "message": message}


CONTENT = (
    "Some resources are remaining: pods. has 2 resource instances, "
    "widgets.example.com has 1 resource instances"
)
LEFT_BY = "example.com/hold in 1 resource instances"
FINALIZERS = f"Some content in the namespace has finalizers remaining: {LEFT_BY}"
VISION = {
    "kind": "Namespace",
    "metadata": {"name": "vision"},
    "status": {
        "conditions": [
            condition("NamespaceDeletionDiscoveryFailure", "All resources successfully discovered", "False"),
            condition("NamespaceContentRemaining", CONTENT),
            condition("NamespaceFinalizersRemaining", FINALIZERS),
        ]
    },
}  # fmt: skip


def left(kind, name, finalizers=(), **more):
    return {
        "kind": kind,
        "metadata": {"namespace": "vision", "name": name, "finalizers": list(finalizers), **more},
    }


def test_a_namespace_says_what_is_left_in_it():
    assert conditions(VISION) == [CONTENT, FINALIZERS]
    assert remaining_kinds(VISION) == ["pods", "widgets.example.com"]
    assert conditions({}) == remaining_kinds({}) == []


def test_what_holds_it_is_named_before_what_only_goes():
    items = [
        left("Pod", "b", deletionTimestamp=AT),
        left("Pod", "a"),
        left("Widget", "w", ["example.com/hold", "example.com/more"]),
    ]
    assert remaining_objects(items) == [
        "Widget vision/w has finalizers example.com/hold, example.com/more",
        "Pod vision/a has no finalizer, and no deletion was requested",
        f"Pod vision/b has no finalizer, and its deletion was requested at {AT}",
    ]


def test_of_many_a_few_are_named():
    lines = remaining_objects([left("Pod", f"p{n:03}", ["x/y"]) for n in range(500)])
    assert len(lines) == 11
    assert lines[-1] == "and 490 more"


def test_the_text_about_a_namespace():
    text = stuck_namespace_message(VISION, [left("Widget", "w", ["example.com/hold"])])
    assert text.splitlines()[:4] == [
        "Namespace vision is stuck in deletion:",
        f"  {CONTENT}",
        f"  {FINALIZERS}",
        "  Widget vision/w has finalizers example.com/hold",
    ]
    assert "fix: " in text
    assert "which objects" not in text
    unread = stuck_namespace_message(VISION, None)
    assert (
        "list the objects: kubectl get pods,widgets.example.com -n vision -o custom-columns="
        in unread
    )
    silent = stuck_namespace_message({"metadata": {"name": "vision"}}, None)
    assert "its status does not report the remaining objects" in silent
    assert "which objects" not in silent


class Looks(Kubectl):
    """Answers looks from a table, and keeps what was asked."""

    def __init__(self, answers, context=None):
        super().__init__(None, context)
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "asked", [])

    async def get(self, *what):
        self.asked.append(what)
        return self.answers.get(what)


def failed(error, operation="create", **inputs):
    side = "old_inputs" if operation == "delete" else "new_inputs"
    return pulumi.ErrorHookArgs(
        "urn", "", "name", "type", failed_operation=operation, errors=[error], **{side: inputs}
    )


def says(looks, args):
    return asyncio.run(explain_error(looks, args))


QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {"name": "lab-vision", "labels": {"gpuyard.dev/platform": "lab"}},
}
TAKEN = 'clusterqueues.kueue.x-k8s.io "lab-vision" already exists'


def test_a_taken_name_and_its_owner():
    asked = ("clusterqueue.kueue.x-k8s.io", "lab-vision")
    looks = Looks({asked: live({"gpuyard.dev/platform": "west"})})
    assert says(looks, failed(TAKEN, **QUEUE)) == (
        "ClusterQueue lab-vision exists already, and this stack did not create it.\n  It belongs "
        "to platform west of GPU Yard (label gpuyard.dev/platform).\n  fix: rename the platform "
        f"or the team; or, if its owner agrees, adopt it: `gpuyard recover {pulumi.get_stack()}` "
        "prints the `pulumi import` command"
    )
    assert looks.asked == [asked]


def test_a_namespace_that_is_there_may_be_joined():
    vision = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "vision",
            "labels": {"gpuyard.dev/platform": "lab", "gpuyard.dev/team": "vision"},
        },
    }
    text = says(
        Looks({("namespace", "vision"): live({})}),
        failed('namespaces "vision" already exists', **vision),
    )
    assert text.endswith(
        "fix: if its owners agree, set `namespaces: [{name: vision, existing: true}]` at the "
        "team: gpuyard uses it unchanged and never deletes it; or rename the team"
    )


def test_what_a_state_has_lost_is_taken_over_by_one_command():
    ours = live({"gpuyard.dev/platform": "lab"})
    text = says(
        Looks({("clusterqueue.kueue.x-k8s.io", "lab-vision"): ours}), failed(TAKEN, **QUEUE)
    )
    assert text.endswith(
        f"fix: if no other stack manages it, `gpuyard recover {pulumi.get_stack()}` adopts it; "
        "then run `pulumi up` again"
    )


def test_a_taken_name_in_a_namespace_that_nobody_could_look_at():
    inputs = {"apiVersion": "v1", "kind": "ConfigMap"}
    inputs["metadata"] = {"name": "gpuyard-platform", "namespace": "gpuyard-lab"}
    text = says(Looks({}, "blue"), failed("it already exists", **inputs))
    assert (
        "kubectl --context blue get configmap gpuyard-platform -n gpuyard-lab -o yaml "
        "--show-managed-fields" in text
    )


@pytest.mark.parametrize(
    ("kind", "named_for"),
    [
        ("Namespace", "the team"),
        ("ResourceFlavor", "the pool"),
        ("WorkloadPriorityClass", "the priority"),
        ("Cohort", "the platform or the team"),
    ],
)
def test_another_name_is_given_where_the_name_comes_from(kind, named_for):
    taken = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "train"}}
    assert f"fix: rename {named_for};" in says(Looks({}), failed(TAKEN, **taken))


MET = (
    'Unable to continue with install: {} "{}" in namespace "{}" exists and cannot be imported into the '
    "current release: invalid ownership metadata"
)


@pytest.mark.parametrize(
    ("managers", "left_over"),
    [
        (["clusterrole-aggregation-controller"], True),
        (["clusterrole-aggregation-controller", "anna"], False),
    ],
)
def test_a_role_that_kubernetes_wrote_anew_is_told_from_one_that_somebody_has(managers, left_over):
    met = failed(MET.format("ClusterRole", "kueue-batch-admin-role", ""))
    role = live(managedFields=[wrote(one) for one in managers])
    text = says(Looks({("clusterrole", "kueue-batch-admin-role"): role}), met)
    assert ("is left over from a removed chart" in text) == left_over
    assert ("fix: kubectl delete clusterrole kueue-batch-admin-role" in text) == left_over
    assert ("anna" in text) != left_over


def test_helm_meets_an_object_that_nobody_could_look_at():
    text = says(Looks({}), failed(MET.format("Service", "kueue", "kueue-system")))
    assert "Service kueue exists already, and Helm does not overwrite" in text
    assert "See kubectl get service kueue -n kueue-system -o yaml --show-managed-fields" in text
    assert "delete the object only if it is unused" in text


GONE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision"}}
LATE = "timed out waiting for the condition"


def test_a_namespace_is_looked_into():
    items = {"items": [left("Widget", "w", ["example.com/hold"])]}
    looks = Looks(
        {("namespace", "vision"): VISION, ("pods,widgets.example.com", "-n", "vision"): items}
    )
    assert "Widget vision/w has finalizers example.com/hold" in says(
        looks, failed(LATE, "delete", **GONE)
    )
    del looks.answers["pods,widgets.example.com", "-n", "vision"]
    assert "list the objects: kubectl get pods," in says(looks, failed(LATE, "delete", **GONE))
    looks.answers["namespace", "vision"] = GONE
    assert "its status does not report" in says(looks, failed(LATE, "delete", **GONE))
    looks.answers.clear()
    assert "kubectl get namespace vision -o jsonpath={.status.conditions}" in says(
        looks, failed(LATE, "delete", **GONE)
    )


@pytest.mark.parametrize(
    "args",
    [
        failed("the server says no", **QUEUE),
        failed(TAKEN, "update", **QUEUE),
        failed(LATE, "delete", **QUEUE),
        failed("forbidden", "delete", **GONE),
        pulumi.ErrorHookArgs("urn", "", "name", "type", failed_operation="create"),
    ],
    ids=["other", "update", "no-namespace", "forbidden", "silent"],
)
def test_nobody_looks_where_there_is_nothing_to_add(args):
    looks = Looks({})
    assert says(looks, args) is None
    assert looks.asked == []


HELD = "finalizers might be preventing deletion (kueue.x-k8s.io/resource-in-use)"


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (None, "kubectl get workloads -A"),
        ([("pod-nb", "lab-vision"), ("job-a", "lab-speech")], "vision/pod-nb"),
    ],
)
def test_a_queue_that_workloads_use_is_told_with_them_and_how_to_end_them(found, names):
    items = [
        {
            "metadata": {"name": name, "namespace": "vision"},
            "status": {"admission": {"clusterQueue": queue}},
        }
        for name, queue in found or ()
    ]
    looks = Looks({} if found is None else {("workloads.kueue.x-k8s.io", "-A"): {"items": items}})
    assert says(looks, failed(HELD, "delete", **QUEUE)) == (
        f"ClusterQueue lab-vision stays while admitted workloads use it: {names}.\n  fix: wait "
        "until they finish and deploy again; or add the team again with `stop_policy: drain`, run "
        "`pulumi up`, which evicts them, then remove the team"
    )


def test_a_queue_that_nothing_uses_any_more_is_left_to_the_engine():
    looks = Looks({("workloads.kueue.x-k8s.io", "-A"): {"items": []}})
    assert says(looks, failed(HELD, "delete", **QUEUE)) is None


# ── the look itself ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    """A kubectl that does what a line of shell says, and keeps what it was asked."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def does(line):
        tool = folder / "kubectl"
        tool.write_text(f'#!/bin/sh\necho "$@" >"{tmp_path}/asked"\n{line}\n')
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        return tmp_path / "asked"

    return does


def looked(kubectl, *what):
    return asyncio.run(kubectl.get(*what))


def test_kubectl_is_asked_for_json_with_its_writers(kubectl):
    asked = kubectl("""echo '{"kind": "Pod"}'""")
    assert looked(Kubectl(None, "blue"), "pod", "a", "-n", "b") == {"kind": "Pod"}
    assert asked.read_text().strip() == (
        "--context blue --request-timeout=30s get pod a -n b -o json --show-managed-fields"
    )


def test_a_kubeconfig_goes_to_a_file_that_only_we_read_and_that_does_not_stay(
    kubectl, tmp_path, monkeypatch
):
    asked = kubectl("""file="${1#--kubeconfig=}"; stat -c %a "$file" >mode; cat "$file" """)
    monkeypatch.chdir(tmp_path)

    async def look():
        return await Kubectl(pulumi.Output.secret('{"users": []}')).get("pods")

    assert asyncio.run(look()) == {"users": []}
    assert (tmp_path / "mode").read_text().strip() == "600"
    assert not Path(asked.read_text().split()[0].removeprefix("--kubeconfig=")).exists()


def test_a_kubeconfig_may_be_a_path(kubectl):
    asked = kubectl("echo '{}'")
    assert looked(Kubectl("~/.kube/blue"), "pods") == {}
    assert asked.read_text().split()[0] == f"--kubeconfig={Path.home() / '.kube/blue'}"


@pytest.mark.parametrize("line", ["exit 1", "echo no json", "echo '[]'", "exec sleep 30"])
def test_a_look_that_fails_in_any_way_gives_nothing(kubectl, line, monkeypatch):
    monkeypatch.setattr("gpuyard.kubectl.SECONDS", 0.5)
    kubectl(line)
    assert looked(Kubectl(), "pods") is None


def test_names_alone_are_asked_for_where_contents_are_nobodys_business(kubectl):
    asked = kubectl("echo secret/a; echo secret/b")
    assert asyncio.run(Kubectl().names("secrets")) == ["secret/a", "secret/b"]
    assert asked.read_text().strip() == "--request-timeout=30s get secrets -o name"
    kubectl("exit 1")
    assert asyncio.run(Kubectl().names("secrets")) is None


def test_without_kubectl_a_look_gives_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert looked(Kubectl(), "pods") is None


@pytest.mark.parametrize(
    ("line", "against"),
    [
        ("echo done", ""),
        ("echo no such node >&2; exit 1", "no such node"),
        ("exit 1", "kubectl could not be run"),
        ("exec sleep 30", "kubectl could not be run"),
    ],
)
def test_a_change_says_what_was_said_against_it(kubectl, line, against, monkeypatch):
    monkeypatch.setattr("gpuyard.kubectl.SECONDS", 0.5 if "sleep" in line else 45)
    asked = kubectl(line)
    assert asyncio.run(Kubectl().run_mutating("cordon", "n1")) == against
    assert asked.read_text().strip() == "--request-timeout=30s cordon n1"


def test_words_of_a_program_are_asked_for_as_they_are(kubectl):
    kubectl("echo lost")
    assert asyncio.run(Kubectl().run("logs", "a")) == "lost\n"


def test_a_cluster_that_is_not_made_yet_is_not_the_ambient_one(kubectl):
    kubectl("echo x")

    async def ask():
        none = Kubectl(pulumi.Output.from_input(None))
        return (
            await none.run("logs", "a"),
            await none.run_mutating("cordon", "n"),
            await none.get("x"),
        )

    assert asyncio.run(ask()) == (None, "the cluster does not exist yet", None)


def test_a_namespace_of_an_operator_that_runs_already_is_joined():
    obj = {"kind": "Namespace", "metadata": {"name": "gpu-operator"}}
    assert "gpu_operator: {install: false}" in hooks._name_conflict_fix(None, obj)


# ── the hook ──────────────────────────────────────────────────────────────────────────────────────


class Hook:
    """Stands for the SDK's hook, which an engine would have to register."""

    def __init__(self, name, callback):
        self.name, self.callback = name, callback


@pytest.fixture
def engine_with_hooks(monkeypatch):
    monkeypatch.setattr(hooks, "monitor_supports_feature", lambda _: True)
    monkeypatch.setattr(pulumi, "ErrorHook", Hook)
    said = []
    monkeypatch.setattr(pulumi.log, "warn", said.append)
    return said


def test_an_explanation_is_said_and_nothing_is_retried(engine_with_hooks):
    (hook,) = hooks_of("lab", Looks({}), ()).on_error
    (other,) = hooks_of("lab", Looks({}), ()).on_error
    assert hook.name.startswith("gpuyard:lab:")
    assert hook.name != other.name
    assert asyncio.run(hook.callback(failed(TAKEN, **QUEUE))) is False
    assert len(engine_with_hooks) == 1
    assert engine_with_hooks[0].startswith("ClusterQueue lab-vision exists already")
    assert asyncio.run(hook.callback(failed("no", **QUEUE))) is False
    assert len(engine_with_hooks) == 1


def test_an_explanation_that_fails_hides_nothing(engine_with_hooks):
    (hook,) = hooks_of("lab", Looks(None), ()).on_error  # a table that is none
    assert asyncio.run(hook.callback(failed(TAKEN, **QUEUE))) is False
    assert engine_with_hooks == []


def test_an_engine_without_hooks_gets_none(monkeypatch):
    monkeypatch.setattr(hooks, "monitor_supports_feature", lambda _: False)
    assert hooks_of("lab", Kubectl(), ()) is None


@pytest.mark.parametrize(
    ("provider", "hooked"),
    [
        (lambda: ClusterProvider("lab", "lab"), True),
        (lambda: ClusterProvider("lab", "lab", render_to="folder"), False),
        (lambda: pulumi.ProviderResource("kubernetes", "lab", {}), False),
    ],
    ids=["ours", "files", "theirs"],
)
def test_hooks_come_with_our_provider_alone(pulumi_mocks, monkeypatch, provider, hooked):
    """Which cluster another provider speaks to, only that provider knows."""
    binding = pulumi.ResourceHookBinding(on_error=[])
    monkeypatch.setattr("gpuyard.resources.provider.hooks_of", lambda *_: binding)
    given = []
    real = pulumi.CustomResource.__init__

    def init(self, token, name, props=None, opts=None, *more, **options):
        if opts is not None and token.startswith("kubernetes:"):
            given.append(opts.hooks is not None and opts.hooks.on_error is not None)
        real(self, token, name, props, opts, *more, **options)

    monkeypatch.setattr(pulumi.CustomResource, "__init__", init)
    pulumi_mocks.run(
        lambda: Platform("lab", {"platform": LAB}, pulumi.ResourceOptions(providers=[provider()]))
    )
    assert given
    assert set(given) == {hooked}
