"""A platform beside other people's queues, and with no cluster at all, on the real engine and API server.

Kueue's definitions are there, its controller is not: an object changes only when somebody writes it.
"""

import json

import yaml
from labs import KUEUE, LABEL, RAW
from testbed.plugins.kubernetes.cluster import APPLY

from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.charts import release_object
from gpuyard.render.files import render_files
from gpuyard.render.gpu_operator.values import gpu_operator_release
from gpuyard.render.platform import platform_objects
from kit.stacks import plan_of, team


def named(kind, name, spec=None, **more):
    return {
        "apiVersion": KUEUE,
        "kind": kind,
        "metadata": {"name": name, "labels": {"team": "theirs"}},
        **({"spec": spec} if spec is not None else {}),
        **more,
    }


def theirs(namespace):
    """Queues as another team has them, in the root cohort of nobody and in ours by accident."""
    resources = [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]
    group = {
        "coveredResources": ["nvidia.com/gpu"],
        "flavors": [{"name": "theirs", "resources": resources}],
    }
    queue = named("LocalQueue", "default", {"clusterQueue": "theirs"})
    queue["metadata"]["namespace"] = namespace
    return [
        named("ResourceFlavor", "theirs", {"nodeLabels": {"their": "node"}}),
        named("Cohort", "theirs", {}),
        named("ClusterQueue", "theirs", {"cohortName": "lab", "resourceGroups": [group]}),
        named("WorkloadPriorityClass", "theirs", value=7, description="theirs"),
        queue,
    ]


def live(api, objects):
    return [api.cluster.get(obj) for obj in objects]


def test_other_peoples_queues_are_as_they_were(stack, api, kueue, lab):
    objects = theirs(api.namespace)
    for obj in objects:
        api.cluster.create(obj, {})
    before = live(api, objects)
    stack.up()
    assert live(api, objects) == before
    for kind in ("ClusterQueue", "ResourceFlavor", "Cohort", "WorkloadPriorityClass"):
        labels = {
            o["metadata"]["name"]: o["metadata"]["labels"].get(LABEL)
            for o in api.cluster.list(KUEUE, kind, None)
        }
        assert labels.pop("theirs") is None
        assert labels
        assert set(labels.values()) == {"lab"}
    lab(teams=[team(guarantee={"train": 16})], priorities={"low": -1})
    assert stack.up().counts.keys() >= {"created", "updated", "deleted"}
    assert live(api, objects) == before
    stack.unchanged()
    stack.destroy()
    assert live(api, objects) == before
    assert [o["metadata"]["name"] for o in api.cluster.list(KUEUE, "ClusterQueue", None)] == [
        "theirs"
    ]


def test_a_name_that_somebody_has_ends_the_up_says_whose_it_is_and_leaves_theirs_alone(
    stack, api, kueue, lab, kubectl
):
    taken = named("ClusterQueue", "lab-vision", {"namespaceSelector": {}})
    taken["metadata"]["labels"][LABEL] = "west"
    api.cluster.create(taken, {"fieldManager": "deployer-of-west"})
    before = live(api, [taken])
    failed = stack.up(fails=True).output
    assert 'clusterqueues.kueue.x-k8s.io "lab-vision" already exists' in failed
    assert "`gpuyard recover dev` prints the `pulumi import` command" in failed
    assert "ClusterQueue lab-vision exists already, and this stack did not create it" in failed
    assert "It belongs to platform west of GPU Yard (label gpuyard.dev/platform)" in failed
    assert "last written by deployer-of-west at 20" in failed
    looked_at = [r["urn"] for r in stack.state()["resources"] if r.get("external")]
    assert looked_at == [], "a look leaves nothing of theirs in our state"
    assert live(api, [taken]) == before
    stack.destroy()
    assert live(api, [taken]) == before, "what was never ours is not ours to delete"
    api.cluster.delete(taken, "lab-vision", "Background")
    stack.up()
    stack.unchanged()
    stack.destroy()


TRANSFORMS = """
from gpuyard.resources import ClusterProvider, Platform
lab = ClusterProvider("lab", "lab", settings["kubeconfig"])
raw = json.loads(Path("platform.json").read_text())

def changed(args):
    if args.type_.endswith(":ClusterQueue"):
        props = dict(args.props)
        props["metadata"] = {**props["metadata"], "annotations": {"example.org/owner": "us"}}
        props["spec"] = {**props["spec"], "queueingStrategy": "StrictFIFO"}
        opts = pulumi.ResourceOptions.merge(
            args.opts, pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(delete="3s"))
        )
        return pulumi.ResourceTransformResult(props=props, opts=opts)
    return None

Platform("lab", {"platform": raw}, pulumi.ResourceOptions(providers=[lab], transforms=[changed]))
"""


def test_every_object_can_be_changed_and_a_finalizer_of_nobody_is_named(stack, api, kueue, lab):
    lab(TRANSFORMS)
    stack.up()
    queue = {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "lab-vision"}}
    (made,) = live(api, [queue])
    assert made["metadata"]["annotations"]["example.org/owner"] == "us"
    assert made["spec"]["queueingStrategy"] == "StrictFIFO"
    stack.unchanged()
    holds(api, queue, ["example.org/never"])
    failed = stack.destroy(fails=True).output
    assert "lab-vision" in failed
    assert "finalizers might be preventing deletion (example.org/never)" in failed
    holds(api, queue, [])
    stack.destroy()
    assert stack.state().get("resources", []) == []


def holds(api, obj, finalizers):
    body = {"metadata": {"finalizers": finalizers}}
    api.cluster.patch(obj, body, "application/merge-patch+json", {"fieldManager": "somebody"})


# Within it Kubernetes has to find out, and to write down, what holds the namespace.
SHORT = TRANSFORMS.replace(":ClusterQueue", ":Namespace").replace("3s", "30s")
SHORT = "\n".join(line for line in SHORT.splitlines() if "props[" not in line)


def test_what_holds_a_namespace_is_named_where_the_program_runs(
    stack, api, kueue, lab, kubectl, until
):
    """The engine names the namespace alone, and so does a destroy that runs no program."""
    lab(SHORT)
    stack.up()
    kept = {"apiVersion": "v1", "kind": "ConfigMap"}
    kept["metadata"] = {"name": "kept", "namespace": "speech", "finalizers": ["example.org/never"]}
    until(lambda: api.cluster.create(kept, {}))  # its quota may be counted at the same moment
    lab(SHORT, teams=RAW["teams"][:1])
    try:
        for command in (stack.up, lambda **more: stack.destroy("--run-program", **more)):
            failed = command(fails=True).output
            assert "timed out waiting for the condition" in failed
            assert "Namespace speech is stuck in deletion:" in failed
            assert "example.org/never in 1 resource instances" in failed
            assert "ConfigMap speech/kept has finalizers example.org/never" in failed
        failed = stack.destroy(fails=True).output
        assert "timed out waiting for the condition" in failed
        assert "hook" not in failed
        assert "example.org" not in failed
    finally:
        holds(api, kept, [])
    stack.destroy()
    assert stack.state().get("resources", []) == []


RENDER = """
from gpuyard.resources import Platform, provider_of, validate_platform
validated = validate_platform(json.loads(Path("platform.json").read_text()))
opts = pulumi.ResourceOptions(providers=[provider_of(validated.plan, "lab")])
Platform("lab", {"platform": validated}, opts)
"""


def rendered(folder):
    files = sorted((folder / "rendered" / "lab").rglob("*.yaml"))
    return {file.name: yaml.safe_load(file.read_text()) for file in files}


def test_apply_render_writes_files_and_asks_no_cluster(stack, lab):
    lab(RENDER, apply="render")
    stack.up()
    found = rendered(stack.folder)
    plan = plan_of(RAW)
    chart = gpu_operator_release(plan)
    assert chart is not None
    rest = [release_object(plan.name, chart)]
    expected = [resolve_outputs(o, lambda _: "lab") for o in (*platform_objects(plan), *rest)]
    assert sorted(map(json.dumps, found.values())) == sorted(
        json.dumps(o, sort_keys=True) for o in expected
    )
    assert "kueue.x-k8s.io_v1beta2-clusterqueue-default-lab-vision.yaml" in found
    assert "v1-namespace-default-vision.yaml" in found
    stack.unchanged()
    lab(RENDER, apply="render", teams=RAW["teams"][:1])
    stack.up()
    assert "v1-namespace-default-speech.yaml" not in rendered(stack.folder)
    lab(RENDER, apply="render", teams=RAW["teams"][:1], queueing={})
    stack.up()
    told = rendered(stack.folder)["v1-configmap-kueue-system-gpuyard-kueue-release.yaml"]
    assert told["data"]["version"] == "0.19.2"
    stack.destroy()
    assert rendered(stack.folder) == {}


def test_what_render_writes_can_be_applied_in_the_order_of_its_names(api, kueue):
    """On an empty cluster that has the definitions, one file after the other."""
    files = render_files(plan_of(RAW), {"cluster.name": "lab"})
    assert {name.partition("/")[0] for name in files if "/" in name} == {"001-gpu-operator"}
    applied = []
    try:
        for name in sorted(name for name in files if "/" not in name):
            for obj in yaml.safe_load_all(files[name]):
                query = {"fieldManager": "gitops", "fieldValidation": "Strict"}
                applied.append(api.cluster.patch(obj, obj, APPLY, query))
        assert len(applied) == len(platform_objects(plan_of(RAW)))
    finally:
        for obj in reversed(applied):
            api.cluster.delete(obj, obj["metadata"]["name"], "Background")


def test_an_existing_cluster_is_the_context_of_that_name(stack, api, kueue, lab, tmp_path):
    """The current context of the kubeconfig leads nowhere."""
    config = yaml.safe_load(stack.kubeconfig.read_text())
    (context,) = config["contexts"]
    context["name"] = "blue"
    dead = {"name": "dead", "cluster": {"server": "https://127.0.0.1:1"}}
    config["clusters"].append(dead)
    config["contexts"].append({"name": "dead", "context": {"cluster": "dead", "user": "nobody"}})
    config["current-context"] = "dead"
    file = tmp_path / "two"
    file.write_text(yaml.safe_dump(config))
    lab(RENDER, cluster={"existing": "blue"})
    stack.up(KUBECONFIG=str(file))
    record = {"apiVersion": "v1", "kind": "ConfigMap"}
    record["metadata"] = {"name": "gpuyard-platform", "namespace": "gpuyard-lab"}
    assert api.cluster.get(record)["data"]["cluster"] == "blue"
    stack.destroy(KUBECONFIG=str(file))
