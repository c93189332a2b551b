"""The provider of a platform's cluster: what it is told, what stays secret, what a caller may add."""

import json

import pulumi
import pytest
import yaml

from gpuyard.render.kueue.chart import kueue_values
from gpuyard.resources import ClusterProvider, Platform, PlatformRejected, Queueing, provider_of
from gpuyard.sdk_classes import sdk_version
from kit.components import LAB
from kit.stacks import plan_of, platform

TYPE = "pulumi:providers:kubernetes"
KUBECONFIG = json.dumps({"users": [{"user": {"token": "very-secret"}}]})


def provider(mocks, *args, **kwargs):
    return mocks.run(lambda: ClusterProvider("cluster", *args, **kwargs)).one(TYPE)


def test_it_knows_its_cluster_by_name_and_owns_what_the_platform_owns(pulumi_mocks):
    assert provider(pulumi_mocks, "lab").inputs == {
        "clusterIdentifier": "lab",
        "enableConfigMapMutable": "true",
        "enablePatchForce": "true",
    }


def test_without_a_kubeconfig_nothing_is_secret_and_the_environment_decides(pulumi_mocks):
    made = provider(pulumi_mocks, "lab")
    assert "kubeconfig" not in made.inputs
    assert made.secrets == frozenset()


@pytest.mark.parametrize("kind", ["text", "output", "secret"])
def test_a_kubeconfig_is_secret_however_it_comes(pulumi_mocks, kind):
    give = {
        "text": lambda: KUBECONFIG,
        "output": lambda: pulumi.Output.from_input(KUBECONFIG),
        "secret": lambda: pulumi.Output.secret(KUBECONFIG),
    }[kind]
    graph = pulumi_mocks.run(lambda: ClusterProvider("cluster", "lab", give()))
    made = graph.one(TYPE)
    assert made.inputs["kubeconfig"] == KUBECONFIG
    assert made.secrets == {"kubeconfig"}
    assert all("very-secret" not in log.message for log in graph.logs)


def test_a_kubeconfig_that_a_cluster_makes_is_waited_for_and_secret_before_it_is_known(
    pulumi_mocks,
):
    def program():
        made = pulumi.CustomResource("test:index:Cluster", "made", {})
        ClusterProvider("cluster", "lab", made.urn.apply(lambda _: KUBECONFIG))

    graph = pulumi_mocks.with_settings(allow_top_level=True).run(program)
    found = graph.one(TYPE)
    assert graph.one("test:index:Cluster").urn in found.dependencies
    assert found.property_dependencies["kubeconfig"] == (graph.one("test:index:Cluster").urn,)
    assert found.secrets == {"kubeconfig"}


def test_its_version_is_that_of_the_sdk_so_that_no_newer_plugin_is_taken(pulumi_mocks):
    made = provider(pulumi_mocks, "lab")
    assert made.options["version"] == sdk_version("kubernetes")
    assert sdk_version("kubernetes").count(".") == 2


def test_options_of_the_caller_are_kept_beside_the_version(pulumi_mocks):
    opts = pulumi.ResourceOptions(protect=True, ignore_changes=["kubeconfig"])
    made = provider(pulumi_mocks, "lab", KUBECONFIG, opts)
    assert made.options["protect"] is True
    assert made.options["ignoreChanges"] == ["kubeconfig"]
    assert made.options["version"] == sdk_version("kubernetes")


def test_a_version_of_the_caller_goes_before_ours(pulumi_mocks):
    made = provider(pulumi_mocks, "lab", opts=pulumi.ResourceOptions(version="4.99.0"))
    assert made.options["version"] == "4.99.0"


def test_the_options_that_were_given_are_not_changed(pulumi_mocks):
    opts = pulumi.ResourceOptions(protect=True)
    provider(pulumi_mocks, "lab", None, opts)
    assert (opts.version, opts.protect) == (None, True)


def test_a_provider_below_a_component_is_its_child(pulumi_mocks):
    def program():
        parent = pulumi.ComponentResource("test:index:Home", "home")
        ClusterProvider("cluster", "lab", opts=pulumi.ResourceOptions(parent=parent))
        parent.register_outputs({})

    graph = pulumi_mocks.run(program)
    assert graph.one(TYPE).parent == graph.one("test:index:Home").urn


def test_a_late_name_of_the_cluster_reaches_it(pulumi_mocks):
    def program():
        ClusterProvider("cluster", pulumi.Output.from_input("blue").apply(str.upper))

    made = pulumi_mocks.run(program).one(TYPE)
    assert made.inputs["clusterIdentifier"] == "BLUE"


def test_every_object_of_a_platform_uses_it(pulumi_mocks):
    def program():
        cluster = ClusterProvider("cluster", "lab", KUBECONFIG)
        Platform("lab", {"platform": LAB}, pulumi.ResourceOptions(provider=cluster))

    graph = pulumi_mocks.run(program)
    made = graph.one(TYPE)
    objects = [one for one in graph if one.custom and one is not made]
    assert objects
    assert {one.provider for one in objects} == {f"{made.urn}::{made.id}"}
    assert [one.name for one in objects if "very-secret" in str(one.inputs)] == []


# ── the provider that a stack file asks for ───────────────────────────────────────────────────────

OURS = {"enableConfigMapMutable": "true", "enablePatchForce": "true"}


@pytest.mark.parametrize(
    ("more", "inputs"),
    [
        (
            {"cluster": {"existing": "blue"}},
            {"clusterIdentifier": "blue", "context": "blue"},
        ),
        (
            {"apply": "render"},
            {"clusterIdentifier": "lab", "renderYamlToDirectory": "rendered/lab"},
        ),
        # A folder has no context; the provider refuses both at once.
        (
            {"apply": "render", "cluster": {"existing": "blue"}},
            {"clusterIdentifier": "blue", "renderYamlToDirectory": "rendered/lab"},
        ),
        (
            {"cloud": "simulated"},
            {"clusterIdentifier": "lab", "context": "gpuyard-simulated"},
        ),
    ],
)
def test_a_stack_file_says_where_objects_go(pulumi_mocks, more, inputs):
    plan = plan_of(platform(**more))
    made = pulumi_mocks.run(lambda: provider_of(plan)).one(TYPE)
    assert made.inputs == OURS | inputs
    assert made.name == "cluster"
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": platform(**more)}))
    assert graph.one(TYPE).inputs == OURS | inputs
    assert {one.provider.split("::")[-2] for one in graph if one.custom and one.provider} == {
        graph.one(TYPE).name
    }


NO_CLUSTER = """\
platform lab is rejected:
error args.cluster platform.cluster.existing: the platform names no cluster; the kubeconfig's current context is never a default
  given: no cluster.existing
  allowed: a context that `kubectl config get-contexts` lists
  fix: set cluster: {existing: CONTEXT}"""  # noqa: E501  asserted in full


def test_a_platform_that_names_no_cluster_is_refused(pulumi_mocks):
    with pytest.raises(PlatformRejected) as refused:
        provider_of(plan_of(platform()))
    assert str(refused.value) == NO_CLUSTER
    with pytest.raises(PlatformRejected, match="names no cluster"):
        pulumi_mocks.run(lambda: Platform("lab", {"platform": platform()}))


NO_PROVIDER = """\
Queueing lab is rejected:
error args.provider opts.providers: the component has no Kubernetes provider; the kubeconfig's current context is never a default
  given: no provider
  allowed: a Kubernetes provider, or `kubernetes:context` in the stack's configuration
  fix: pass opts=pulumi.ResourceOptions(providers=[platform.provider]), or on a cluster of your own set cluster.existing"""  # noqa: E501  asserted in full


def test_a_part_without_a_provider_is_refused(pulumi_mocks):
    with pytest.raises(PlatformRejected) as refused:
        pulumi_mocks.run(lambda: Queueing("lab", {"platform": platform()}))
    assert str(refused.value) == NO_PROVIDER


def test_a_part_without_a_provider_uses_the_cluster_that_the_spec_names(pulumi_mocks):
    graph = pulumi_mocks.run(lambda: Queueing("lab", {"platform": LAB}))
    (provider,) = graph.of_type("pulumi:providers:kubernetes")
    assert (provider.name, provider.inputs["context"]) == ("lab-kubernetes", "gpuyard-simulated")
    objects = [each for each in graph if each.type.startswith("kubernetes:")]
    assert {each.provider.rpartition("::")[0] for each in objects} == {provider.urn}


def test_a_part_writes_manifests_and_ignores_a_context_of_the_configuration(pulumi_mocks):
    rendered = {**LAB, "apply": "render"}
    config = {"kubernetes:context": "prod"}
    for component in (Queueing, Platform):
        graph = pulumi_mocks.run(
            lambda c=component: c("lab", {"platform": rendered}), config=config
        )
        (provider,) = graph.of_type("pulumi:providers:kubernetes")
        assert provider.inputs["renderYamlToDirectory"] == f"rendered/{LAB['name']}"
        assert "context" not in provider.inputs
        objects = [each for each in graph if each.type.startswith("kubernetes:")]
        assert {each.provider.rpartition("::")[0] for each in objects} == {provider.urn}


@pytest.mark.parametrize("key", ["context", "kubeconfig", "renderYamlToDirectory"])
def test_the_default_provider_is_used_where_the_stack_configures_it(pulumi_mocks, key):
    config = {f"kubernetes:{key}": "blue"}
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": platform()}), config=config)
    assert graph.of_type(TYPE) == []


def test_a_platform_in_a_cloud_finds_its_own_way_in():
    assert provider_of(plan_of(platform(cloud="aws", cluster={"existing": "blue"}))) is None


def test_the_folder_of_manifests_can_be_chosen(pulumi_mocks):
    plan = plan_of(platform(apply="render"))
    made = pulumi_mocks.run(lambda: provider_of(plan, "files", "../gitops")).one(TYPE)
    assert (made.name, made.inputs["renderYamlToDirectory"]) == ("files", "../gitops")


def test_where_objects_become_files_the_chart_is_one_of_them(pulumi_mocks):
    raw = platform(apply="render")
    graph = pulumi_mocks.run(lambda: Platform("lab", {"platform": raw}))
    assert graph.of_type("kubernetes:helm.sh/v3:Release") == []
    told = graph.one(name="lab-queueing:ConfigMap:kueue-system/gpuyard-kueue-release")
    data = dict(told.inputs["data"])
    assert yaml.safe_load(data.pop("values.yaml")) == kueue_values(plan_of(raw))
    assert data == {
        "release": "kueue",
        "namespace": "kueue-system",
        "chart": "oci://registry.k8s.io/kueue/charts/kueue",
        "version": "0.19.2",
    }
