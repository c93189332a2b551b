"""What a user sees when an object is refused, never becomes ready, will not go, or must stay secret."""

import json
import signal
import subprocess
import textwrap
import time
from pathlib import Path

import pytest
from testbed.plugins.kubernetes.failures import ApiError

from kit.cluster.lab import slack
from stacks import SECONDS, read_until

DEPLOYMENT = """
    labels = {"app": "a"}
    k8s.apps.v1.Deployment("app", opts=opts(),
        metadata={"name": "app", "namespace": NAMESPACE, "annotations": ANNOTATIONS},
        spec={"replicas": 1, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"nodeSelector": NODES, "containers": [{"name": "c", "image": "i"}]}}})
"""


def _deployment(annotations: dict, nodes: dict) -> str:
    return f"ANNOTATIONS, NODES = {annotations!r}, {nodes!r}\n" + textwrap.dedent(DEPLOYMENT)


@pytest.mark.always
def test_a_wrong_field_is_refused_with_its_path(stack):
    """Already by the preview: it asks the server for a dry run."""
    stack.program("""
        k8s.apiextensions.CustomResource("quota", api_version="v1", kind="ResourceQuota",
            metadata={"name": "quota", "namespace": NAMESPACE}, spec={"hrad": {"cpu": "1"}}, opts=opts())
    """)
    for failed in (stack.preview(fails=True), stack.up(fails=True)):
        assert 'unknown field "spec.hrad"' in failed.output
        assert failed.output.count("was not successfully created by the Kubernetes API server") >= 1


@pytest.mark.always
def test_a_kind_without_a_crd_is_named(stack):
    """The preview passes, for the CRD may come with the update; the update says what is missing."""
    stack.program("""
        k8s.apiextensions.CustomResource("queue", api_version="no.such.group/v1", kind="Queue",
            metadata={"name": "queue", "namespace": NAMESPACE}, spec={"a": 1}, opts=opts())
    """)
    stack.preview()
    process = stack.start("up", "--yes", "--skip-preview", "--color", "never")
    read_until(process, "creation failed")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)
    assert 'no matches for kind "Queue" in version "no.such.group/v1"' in output
    assert "Verify that any required CRDs have been created" in output


LATE = """
    from gpuyard.resources import ClusterProvider
    ours = ClusterProvider("ours", "ours", settings["kubeconfig"])
    ours.chart_api_groups.add(f"{NAMESPACE}.example.org")
    k8s.apiextensions.CustomResource("late", api_version=f"{NAMESPACE}.example.org/v1", kind="Late",
        metadata={"name": "late", "namespace": NAMESPACE}, spec={"a": 1},
        opts=pulumi.ResourceOptions(provider=ours, hooks=ours.error_hooks))
"""


def test_a_kind_that_the_program_brings_is_waited_for_past_the_providers_patience(stack, api):
    """As a chart's where the API server has much to do: the provider gives up, the engine tries again."""
    stack.program(LATE)
    asked = ("up", "--yes", "--skip-preview", "--color", "never")
    process = stack.start(*asked, GPUYARD_CREATE_PAUSE="0.1")
    said = read_until(process, f"does not serve Late ({api.namespace}.example.org/v1) yet")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    kind = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"lates.{api.namespace}.example.org"},
        "spec": {
            "group": f"{api.namespace}.example.org",
            "names": {"kind": "Late", "plural": "lates"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    api.cluster.create(kind, {})
    try:
        more, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, said + more
        assert api.get("Late", "late", f"{api.namespace}.example.org/v1")["spec"] == {"a": 1}
    finally:
        api.cluster.delete(kind, kind["metadata"]["name"], "Background")


SILENT = """
    from gpuyard.resources import ClusterProvider
    ours = ClusterProvider("ours", "ours", settings["kubeconfig"])
    k8s.core.v1.ConfigMap("kept", metadata={"name": "kept", "namespace": NAMESPACE}, data={"a": "b"},
        opts=pulumi.ResourceOptions(provider=ours, hooks=ours.error_hooks))
"""


@pytest.mark.always
def test_a_webhook_that_does_not_answer_yet_is_waited_for(stack, api, until):
    """As Kueue's while its pods start: the provider gives up at once, the engine tries again."""
    name = f"silent.{api.namespace}.example.org"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    webhook = {
        "name": name,
        "rules": [{**rule, "operations": ["CREATE"]}],
        "clientConfig": {"url": "https://127.0.0.1:9/"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    silent = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }
    api.cluster.create(silent, {})
    try:
        until(lambda: is_asked(api, name))
        stack.program(SILENT)
        process = stack.start("up", "--yes", "--skip-preview", "--color", "never")
        said = read_until(process, f"webhook {name} does not respond yet; retrying")
    finally:
        api.cluster.delete(silent, name, "Background")
    more, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, said + more
    assert api.get("ConfigMap", "kept")["data"] == {"a": "b"}


def is_asked(api, webhook):
    """Whether the API server knows that it has to ask this webhook."""
    probe = {"apiVersion": "v1", "kind": "ConfigMap"}
    probe["metadata"] = {"name": "probe", "namespace": api.namespace}
    try:
        api.cluster.create(probe, {"dryRun": "All"})
    except ApiError as problem:
        return webhook in str(problem)
    return False


@pytest.mark.always
def test_a_failed_job_says_why(stack, api):
    """The Job's own reason, at once and not after ten minutes."""
    stack.program("""
        k8s.batch.v1.Job("check", metadata={"name": "check", "namespace": NAMESPACE}, opts=opts(), spec={
            "activeDeadlineSeconds": 1, "template": {"spec": {"restartPolicy": "Never",
            "nodeSelector": {"no": "where"}, "containers": [{"name": "c", "image": "i"}]}}})
    """)
    failed = stack.up(fails=True).output
    assert "[DeadlineExceeded] Job was active longer than specified deadline" in failed
    assert "was created but failed to initialize" in failed
    # It exists, so the state has it, and the engine will try again.
    assert stack.resource("check")["initErrors"]
    assert api.get("Job", "check", "batch/v1")
    stack.destroy()
    assert api.names("Pod") == set()


@pytest.mark.always
def test_a_job_is_awaited_until_it_is_complete(stack, api):
    stack.program("""
        k8s.batch.v1.Job("check", metadata={"name": "check", "namespace": NAMESPACE}, opts=opts(), spec={
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}})
    """)
    stack.up()
    assert api.get("Job", "check", "batch/v1")["status"]["succeeded"] == 1


def test_a_deployment_is_awaited_skipped_or_timed_out(stack, api):
    # its controller, which a busy machine keeps waiting, has to say within this why there is no pod
    never, slow = {"no": "where"}, {"pulumi.com/timeoutSeconds": "40"}
    stack.program(_deployment(slow, never))
    failed = stack.up(fails=True).output
    assert "'app' timed out waiting to be Ready" in failed
    assert "[MinimumReplicasUnavailable] Deployment does not have minimum availability." in failed
    stack.program(_deployment({"pulumi.com/skipAwait": "true"}, never))
    stack.up()
    stack.program(_deployment({}, {}))
    stack.up()
    assert api.get("Deployment", "app", "apps/v1")["status"]["readyReplicas"] == 1
    stack.unchanged()


@pytest.mark.always
def test_wait_for_expressions(stack, api):
    """Both forms of `pulumi.com/waitFor`, and what is missing when the time is up."""
    stack.program(
        """
        wanted = ["jsonpath={.metadata.labels.go}=yes", "condition=Fine"]
        config_map("waiting", metadata={"labels": {"go": GO}, "annotations": {
            "pulumi.com/timeoutSeconds": "1", "pulumi.com/waitFor": json.dumps(wanted)}})
    """.replace("GO", '"no"')
    )
    failed = stack.up(fails=True).output
    assert "timed out waiting for the condition" in failed
    assert '{.metadata.labels.go}=yes (found "no")' in failed


@pytest.mark.always
def test_a_stuck_finalizer_is_named_in_bounded_time(stack, api):
    stack.program("""
        config_map("held", metadata={"finalizers": ["trial.example/hold"],
                                     "annotations": {"pulumi.com/timeoutSeconds": "2"}})
    """)
    stack.up()
    failed = stack.destroy(fails=True).output
    assert "finalizers might be preventing deletion (trial.example/hold)" in failed
    assert "timed out waiting for the condition" in failed
    api.merge("ConfigMap", "held", {"metadata": {"finalizers": None}})
    stack.destroy()
    assert api.get("ConfigMap", "held") is None


def test_a_dead_endpoint(stack, api, kubeconfig):
    """A preview does not need the cluster to plan new objects; destroy says what to do, in bounded time."""
    stack.program('config_map("one")')
    stack.up()
    text = kubeconfig.read_text()
    server = next(line.split()[-1] for line in text.splitlines() if "server:" in line)
    dead = Path(stack.folder, "dead")
    dead.write_text(text.replace(server, "https://127.0.0.1:9"))
    stack.settings(kubeconfig=str(dead))
    stack.program('config_map("one"); config_map("two")')
    assert "1 to create" in stack.preview().output
    assert "configured Kubernetes cluster is unreachable" in stack.up(fails=True).output
    started = time.monotonic()
    failed = stack.destroy("--run-program", fails=True).output
    assert time.monotonic() - started < 90 * slack()
    assert "PULUMI_K8S_DELETE_UNREACHABLE" in failed
    stack.destroy(PULUMI_K8S_DELETE_UNREACHABLE="true")
    assert stack.state().get("resources", []) == []
    assert api.get("ConfigMap", "one")


def test_a_secret_is_nowhere_to_be_read(passphrase, stack, api):
    """Not in the state, the output, a log or an error; encoded or not.

    At -v=9 the engine itself logs what it is sent, secrets too, whatever the provider does.
    """
    canary = "canary-4f1c"
    stack.run("config", "set", "--secret", "token", canary)
    stack.program("""
        token = pulumi.Config().require_secret("token")
        k8s.core.v1.Secret("key", metadata={"name": "key", "namespace": NAMESPACE},
                           string_data={"a": token}, opts=opts())
        k8s.core.v1.Secret("plain", metadata={"name": "plain", "namespace": NAMESPACE},
                           data={"a": "Y2FuYXJ5LTRmMWM="}, opts=opts())
        config_map("wrapped", {"a": token, "b": "open"})
        k8s.core.v1.Service("bad", metadata={"name": "bad", "namespace": NAMESPACE},
                            spec={"type": token, "ports": [{"port": 1}]}, opts=opts())
        pulumi.export("token", token)
    """)
    failed = stack.run(
        "up", "--yes", "--skip-preview", "--diff", "-v=3", "--logflow", "--logtostderr", fails=True
    )
    assert "Unsupported value" in failed.output
    told = [failed.output, stack.refresh("--diff").output, stack.run("stack", "export").output]
    assert json.loads(told[-1])["deployment"] == stack.state()
    told += [json.dumps(json.loads(stack.run("stack", "output", "--json").output))]
    kept = [file for file in stack.backend.rglob("*") if file.is_file()]
    assert kept
    told += [file.read_text() for file in kept]
    for text in told:
        assert canary not in text
        assert "Y2FuYXJ5LTRmMWM=" not in text
    assert api.get("ConfigMap", "wrapped")["data"]["a"] == canary
    assert subprocess.run(["grep", "-r", canary, stack.folder], check=False).returncode == 1
