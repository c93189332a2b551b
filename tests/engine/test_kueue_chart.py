"""Kueue's own chart with our values: what real Helm makes of it, and a real API server says to that.

And how the engine puts it in, changes it and takes it out.
"""

import contextlib
import json
import shutil

import pytest
import yaml
from testbed.plugins.kubernetes.cluster import APPLY
from testbed.plugins.kubernetes.failures import ApiError

from gpuyard.render.kueue.chart import kueue_objects, kueue_values
from gpuyard.render.kueue.configuration import kueue_configuration
from gpuyard_core.catalogue.software.digests import pinned_image_reference
from kit import chart as kueue_chart
from kit.stacks import plan_of, platform, pool, team
from stacks import SECONDS, read_until

RAW = platform(
    [pool(), pool("more", nodes="0..2000", capacity=["on-demand"])],
    [
        team(guarantee={"train": 8}, protect=False),
        team("speech", borrow={"train": 8}, protect=False),
    ],
    mirror={"images": "mirror.example/gpu", "charts": "./charts"},
    priorities={"high": 100},
)
TAG = pinned_image_reference("registry.k8s.io/kueue/kueue", "v0.19.2")
PROGRAM = """
from gpuyard.resources import ClusterProvider, Platform
lab = ClusterProvider("lab", "lab", settings["kubeconfig"])
raw = json.loads(Path("platform.json").read_text())
Platform("lab", {"platform": raw}, pulumi.ResourceOptions(providers=[lab]))
"""


def rendered(namespace="kueue-system", raw=RAW):
    return kueue_chart.rendered(kueue_values(plan_of(raw)), namespace)


def one(objects, kind, name):
    (found,) = [o for o in objects if o["kind"] == kind and o["metadata"]["name"] == name]
    return found


@pytest.mark.always
def test_helm_makes_of_our_values_what_the_plan_says():
    objects = rendered()
    deployment = one(objects, "Deployment", "kueue-controller-manager")
    pod = deployment["spec"]["template"]["spec"]
    assert deployment["spec"]["replicas"] == 2
    assert pod["containers"][0]["image"] == f"mirror.example/gpu/kueue/kueue:{TAG}"
    assert pod["containers"][0]["resources"]["limits"]["memory"] == "4Gi"
    assert pod["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"].items() <= (
        deployment["spec"]["template"]["metadata"]["labels"].items()
    )
    config = one(objects, "ConfigMap", "kueue-manager-config")
    text = config["data"]["controller_manager_config.yaml"]
    assert yaml.safe_load(text) == kueue_configuration(plan_of(RAW))
    assert one(objects, "PodDisruptionBudget", "kueue-manager-pdb")


@pytest.mark.always
def test_a_release_of_another_name_makes_what_the_configuration_names():
    """Argo and Flux call a release as they like."""
    objects = kueue_chart.rendered(kueue_values(plan_of(RAW)), "kueue-system", "cluster-queueing")
    certificates = kueue_configuration(plan_of(RAW))["internalCertManagement"]
    assert one(objects, "Service", certificates["webhookServiceName"])
    assert one(objects, "Secret", certificates["webhookSecretName"])


def test_a_real_api_server_accepts_every_object_of_the_chart(api):
    objects = rendered(api.namespace)
    assert {o["kind"] for o in objects} >= {"CustomResourceDefinition", "Deployment", "APIService"}
    for obj in objects:
        query = {"fieldManager": "helm", "fieldValidation": "Strict", "dryRun": "All"}
        assert api.cluster.patch(obj, obj, APPLY, query)["kind"] == obj["kind"]


@pytest.mark.always
def test_the_manager_may_run_in_a_namespace_that_lets_in_restricted_pods_only(api):
    (namespace,) = kueue_objects(plan_of(RAW))
    labels = namespace["metadata"]["labels"]
    here = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": api.namespace}}
    labelled = {**here, "metadata": {"name": api.namespace, "labels": labels}}
    api.cluster.patch(here, labelled, "application/merge-patch+json", {})
    deployment = one(rendered(api.namespace), "Deployment", "kueue-controller-manager")
    body = deployment["spec"]["template"]
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    name = body["spec"]["serviceAccountName"]
    api.cluster.create({**account, "metadata": {"name": name, "namespace": api.namespace}}, {})
    meta = {**body["metadata"], "name": "manager", "namespace": api.namespace}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body["spec"]}
    assert api.cluster.create(pod, {"dryRun": "All"})["metadata"]["name"] == "manager"


class Operations(list):
    """What the engine did, in order: (operation, kind/name)."""

    def at(self, operation, name):
        return self.index((operation, name))


def operations(file):
    """The engine's own log of events: an operation counts when it has ended."""
    done = Operations()
    for line in file.read_text().splitlines():
        event = json.loads(line).get("resOutputsEvent")
        if event and event["metadata"]["op"] != "same":
            urn = event["metadata"]["urn"]
            done.append((event["metadata"]["op"], urn.rpartition("::")[2].partition(":")[2]))
    return done


def there(api):
    """Kueue's definitions on the cluster."""
    found = api.cluster.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", None)
    return [one for one in found if one["spec"]["group"] == "kueue.x-k8s.io"]


@pytest.fixture
def chart(stack, api, only_kueue, until):
    """The platform's program, beside a folder of charts, on a cluster that never had a Kueue."""
    for crd in there(api):
        api.cluster.delete(crd, crd["metadata"]["name"], "Background")
    until(lambda: not there(api))
    roles = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    for name in ("kueue-batch-admin-role", "kueue-batch-user-role"):
        # Left over where Kueue was taken out before: docs/guides/existing-kueue.md.
        with contextlib.suppress(ApiError):
            api.cluster.delete({**roles, "metadata": {"name": name}}, name, "Background")
    kueue_chart.without_servers(stack.folder / "charts" / "kueue")
    (stack.folder / "platform.json").write_text(json.dumps(RAW))
    stack.program(PROGRAM)
    return stack.folder / "charts" / "kueue"


RELEASE = "Release:kueue-system/kueue"
QUEUE = "ClusterQueue:lab-vision"
FLAVOR = "ResourceFlavor:train"


def left_over(api):
    """A role as Kubernetes' aggregation controller writes it while Helm takes the chart out: rules alone."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "kueue-batch-admin-role"},
        "rules": [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["get"]}],
    }
    who = {"fieldManager": "clusterrole-aggregation-controller", "force": "true"}
    return api.cluster.patch(role, role, APPLY, who)


FLAVORS = "resourceflavors.kueue.x-k8s.io"
UNSERVED = "does not serve ResourceFlavor (kueue.x-k8s.io/v1beta2) yet"


def served_late(chart):
    """As where the API server has much to do: the chart is in, its pods are ready, a kind is not served."""
    file = chart / "templates" / "crd" / "kueue.x-k8s.io_resourceflavors.yaml"
    early, late = (f"served: {word}\n      storage: true" for word in ("true", "false"))
    assert early in file.read_text()
    file.write_text(file.read_text().replace(early, late))


def serve(api):
    """What the API server would have done by itself, later."""
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    crd["metadata"] = {"name": FLAVORS}
    versions = api.cluster.get(crd)["spec"]["versions"]
    body = {"spec": {"versions": [{**one, "served": True} for one in versions]}}
    api.cluster.patch(crd, body, "application/merge-patch+json", {"fieldManager": "somebody"})


def up_while_a_kind_is_served_late(stack, api, *log, **env):
    """The `up` meets a kind that nobody serves, and goes on when it is served."""
    process = stack.start("up", "--yes", "--skip-preview", "--color", "never", *log, **env)
    said = read_until(process, UNSERVED)
    serve(api)
    more, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, said + more


def test_the_chart_goes_in_before_the_queues_and_out_after_them(
    stack, api, chart, tmp_path, until, kubectl
):
    log = ("--event-log", str(tmp_path / "events.json"))
    debug = {"PULUMI_DEBUG_COMMANDS": "true"}
    role = left_over(api)
    try:
        # Helm names the role; the program says what it is and how it goes.
        failed = stack.up(fails=True).output
        name = role["metadata"]["name"]
        assert f"ClusterRole {name} is left over from a removed chart" in failed
        assert f"fix: kubectl delete clusterrole {name}" in failed
        api.cluster.delete(role, name, "Background")

        served_late(chart)
        up_while_a_kind_is_served_late(stack, api, *log, GPUYARD_CREATE_PAUSE="0.2", **debug)
        did = operations(tmp_path / "events.json")
        assert did.at("create", RELEASE) < did.at("create", FLAVOR) < did.at("create", QUEUE)
        deployment = api.cluster.get(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "kueue-controller-manager", "namespace": "kueue-system"},
            }
        )
        assert deployment["status"]["readyReplicas"] == 2
        stack.unchanged()

        # Another version: definitions and controller change before any object of the platform does.
        shutil.rmtree(chart)
        kueue_chart.without_servers(chart, version="0.19.3")
        changed = {**RAW, "queueing": {"preemption": "never"}}
        (stack.folder / "platform.json").write_text(json.dumps(changed))
        (tmp_path / "events.json").unlink()
        stack.up(*log, **debug)
        did = operations(tmp_path / "events.json")
        assert did.at("update", RELEASE) < did.at("update", QUEUE)
        assert {operation for operation, _ in did} == {"update"}
        assert stack.resource(f"lab-queueing:{RELEASE}")["outputs"]["status"]["version"] == "0.19.3"
        stack.unchanged()
    finally:
        (tmp_path / "events.json").unlink(missing_ok=True)
        stack.destroy(*log, **debug)
    did = operations(tmp_path / "events.json")
    assert did.at("delete", QUEUE) < did.at("delete", FLAVOR) < did.at("delete", RELEASE)
    assert did.at("delete", RELEASE) < did.at("delete", "Namespace:kueue-system")
    until(lambda: not there(api))
