"""The charts of `addons`: values, placement, images, and what teams may do with them."""

import pytest
import yaml
from testbed.plugins.kubernetes.helm import unknown_values

from gpuyard.render.access import MEMBERS
from gpuyard.render.platform import ADDONS, object_groups, platform_objects, releases
from gpuyard.render.supply.images import pulled_images
from gpuyard.render.supply.mirror_scripts import pulled_charts
from gpuyard.spec.sections import AddonName
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.catalogue.software.digests import digest_of
from gpuyard_core.catalogue.software.pins import PINS
from kit.levels import upstream
from kit.stacks import SYSTEM, plan_of, platform, pool, team

EVERY = [each.value for each in AddonName if each is not AddonName.KUBEFLOW_PIPELINES]
TEAMS = [
    team("vision", guarantee={"train": 8}, groups=["vision"]),
    team("speech", guarantee={"train": 8}, groups=["speech"], namespaces=["speech", "speech-dev"]),
]


def planned(addons, **rest):
    fields = {"cloud": "aws", "system": SYSTEM, "kubernetes": "1.35", **rest}
    return plan_of(platform([pool()], TEAMS, addons=addons, **fields))


def values_of(addons, chart, **rest):
    return releases(planned(addons, **rest))[chart].values


def role_of(plan, space, name=MEMBERS):
    (found,) = (
        each
        for each in platform_objects(plan)
        if each["kind"] == "Role"
        and each["metadata"] == {**each["metadata"], "name": name, "namespace": space}
    )
    return {
        f"{resource}.{group}"
        for rule in found["rules"]
        if "create" in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_every_add_on_is_in_the_catalogue_and_its_dependencies_come_before_it():
    facts = addon_facts()
    assert set(facts) == {each.value for each in AddonName}
    order = list(facts)
    assert all(
        order.index(need) < order.index(name) for name in facts for need in facts[name].needs
    )


def test_each_add_on_installs_its_charts_and_nothing_without_it():
    base = releases(planned([]))
    for name in EVERY:
        needs = list(addon_facts()[name].needs)
        found = releases(planned([*needs, name])).keys() - base.keys()
        assert found == {
            chart.chart.name for each in (*needs, name) for chart in addon_facts()[each].charts
        }


def test_an_add_on_that_the_cluster_has_is_not_installed_and_teams_may_use_it():
    plan = planned([{"name": "kuberay", "install": False}])
    assert "kuberay-operator" not in releases(plan)
    assert not [o for o in platform_objects(plan) if o["metadata"]["name"] == "kuberay-system"]
    assert "rayjobs.ray.io" in role_of(plan, "vision")


def test_no_chart_is_installed_on_simulated_nodes():
    plan = planned(["keda", "jobset"], cloud="simulated", system=None)
    assert not {"keda", "jobset"} & set(releases(plan))


def test_namespaces_enforce_restricted_and_come_once():
    names = {facts.namespace for facts in addon_facts().values() if facts.charts}
    spaces = [
        each
        for each in platform_objects(planned(EVERY))
        if each["kind"] == "Namespace" and each["metadata"]["name"] in names
    ]
    assert sorted(each["metadata"]["name"] for each in spaces) == sorted(names)
    level = "pod-security.kubernetes.io/enforce"
    assert {each["metadata"]["labels"][level] for each in spaces} == {"restricted"}


def test_controllers_run_on_system_nodes_and_only_there():
    place = {
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
        "nodeSelector": {"gpuyard.dev/pool": "system"},
    }
    found = releases(planned(EVERY))
    for facts in addon_facts().values():
        for chart in facts.charts:
            assert chart.places or not chart.images
            for path in chart.places:
                values = found[chart.chart.name].values
                for key in path:
                    values = values[key]
                assert values | place == values


def test_images_are_named_by_digest_and_come_from_the_mirror():
    image = "argoproj/argocd"
    digest = digest_of(f"quay.io/{image}", f"v{PINS['argo-cd'].version}")
    given = values_of(["argo-cd"], "argo-cd")["global"]["image"]
    assert given == {"repository": f"quay.io/{image}", "tag": f"v3.5.3@{digest}"}
    mirrored = values_of(["argo-cd"], "argo-cd", mirror={"images": "registry.example/gpu"})
    assert mirrored["global"]["image"]["repository"] == f"registry.example/gpu/{image}"


def test_a_registry_and_a_reference_of_their_own_keys():
    values = values_of(["cert-manager", "kserve", "keda"], "keda")
    assert values["image"]["keda"] == {
        "registry": "ghcr.io",
        "repository": "kedacore/keda",
        "tag": "2.21.0",
    }
    controller = values_of(["cert-manager", "kserve"], "kserve-resources")["kserve"]["controller"]
    assert controller["rbacProxyImage"] == "quay.io/brancz/kube-rbac-proxy:v0.18.0"


def test_every_image_and_chart_is_listed_for_the_mirror():
    plan = planned(EVERY)
    listed = {image.upstream for image in pulled_images(plan)}
    charts = {chart.name for chart in pulled_charts(plan)}
    for facts in addon_facts().values():
        for chart in facts.charts:
            assert chart.chart.name in charts
            assert {image.home for image in chart.images} <= listed


def test_a_controller_watches_the_namespaces_of_its_teams():
    some = [{"name": "kuberay", "teams": ["speech"]}, "argo-workflows", "argo-cd"]
    assert values_of(some, "kuberay-operator")["watchNamespace"] == ["speech", "speech-dev"]
    controller = values_of(some, "argo-workflows")["controller"]
    assert controller["workflowNamespaces"] == ["vision", "speech", "speech-dev"]
    params = values_of(some, "argo-cd")["configs"]["params"]
    assert params == {"application.namespaces": "vision,speech,speech-dev"}


def test_monitors_have_the_label_by_which_prometheus_selects_and_need_its_operator():
    assert "prometheus" not in values_of(["keda"], "keda")
    monitors = values_of(["keda"], "keda", observability={})["prometheus"]
    label = {"gpuyard.dev/monitoring": "platform"}
    assert monitors["operator"]["serviceMonitor"] == {"enabled": True, "additionalLabels": label}
    order = [addon.name for addon in ADDONS]
    assert order.index("monitoring") < order.index("keda")
    assert "monitoring" in next(addon for addon in ADDONS if addon.name == "keda").after


def test_the_dependencies_of_a_chart_are_created_first():
    after = {addon.name: addon.after for addon in ADDONS}
    assert "jobset" in after["kubeflow-trainer"]
    assert after["kserve-resources"] == ("kserve-crd",)
    assert after["kserve-crd"] == ("cert-manager",)


@pytest.mark.parametrize("chart", ["keda", "kubeflow-trainer"])
def test_the_chart_has_every_value(chart):
    tree = yaml.safe_load(upstream("values", f"{chart}.yaml").read_text(encoding="utf-8"))
    values = values_of(["jobset", "kubeflow-trainer", "keda"], chart, observability={})
    assert list(unknown_values(values, tree)) == []


# ── what teams may do ─────────────────────────────────────────────────────────────────────────────
def test_members_of_the_listed_teams_alone_may_create_its_objects():
    plan = planned([{"name": "argo-workflows", "teams": ["vision"]}, "keda"])
    assert "workflows.argoproj.io" in role_of(plan, "vision")
    assert "workflows.argoproj.io" not in role_of(plan, "speech")
    assert {"scaledobjects.keda.sh"} <= role_of(plan, "vision") & role_of(plan, "speech-dev")
    assert "triggerauthentications.keda.sh" not in role_of(plan, "vision")


def test_a_kind_of_every_team_is_left_to_the_listed_teams():
    assert "rayjobs.ray.io" in role_of(planned([]), "speech")
    plan = planned([{"name": "kuberay", "teams": ["vision"]}])
    assert "rayjobs.ray.io" in role_of(plan, "vision")
    assert "rayjobs.ray.io" not in role_of(plan, "speech")
    assert "jobsets.jobset.x-k8s.io" in role_of(plan, "speech")


def test_pods_of_a_workflow_are_checked_as_those_of_a_member():
    """Its controller creates them, and the requests of other controllers are not checked."""
    plan = planned([{"name": "argo-workflows", "teams": ["vision"]}, "keda"])
    accounts = {
        each["metadata"]["name"]: each["metadata"]["annotations"]["admission.gpuyard.dev/accounts"]
        for each in platform_objects(plan)
        if each["kind"] == "Namespace" and "gpuyard.dev/team" in each["metadata"]["labels"]
    }
    assert accounts == {
        "vision": "system:serviceaccounts:argo",
        "speech": "",
        "speech-dev": "",
    }


def test_pipelines_create_what_members_may_create_except_secrets():
    plan = planned(["tekton"])
    assert role_of(plan, "vision", "gpuyard-deploy") < role_of(plan, "vision") | {
        "workflowtaskresults.argoproj.io"
    }
    assert "secrets." not in role_of(plan, "vision", "gpuyard-deploy")
    (binding,) = (
        each
        for each in platform_objects(plan)
        if each["kind"] == "RoleBinding"
        and each["metadata"]["name"] == "gpuyard-deploy"
        and each["metadata"]["namespace"] == "speech-dev"
    )
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "gpuyard-deploy", "namespace": "speech-dev"}
    ]
    assert not [
        o for o in platform_objects(planned(["keda"])) if o["metadata"]["name"] == "gpuyard-deploy"
    ]


def test_the_operator_of_ray_may_call_the_dashboards_of_its_teams():
    plan = planned([{"name": "kuberay", "teams": ["vision"]}])
    policies = {
        each["metadata"]["namespace"]: each["spec"]["ingress"]
        for each in platform_objects(plan)
        if each["kind"] == "NetworkPolicy" and each["metadata"]["name"] == "gpuyard"
    }
    caller = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kuberay-system"}}
    }
    assert policies["vision"][1:] == [
        {
            "from": [caller],
            "ports": [{"protocol": "TCP", "port": 8000}, {"protocol": "TCP", "port": 8265}],
        }
    ]
    assert policies["speech"][1:] == []


def test_argo_cd_deploys_for_a_team_only_into_its_namespaces_and_with_its_account():
    groups = dict(object_groups(planned([{"name": "argo-cd", "teams": ["speech"]}])))
    (project,) = groups["argo-cd-projects"]
    server = "https://kubernetes.default.svc"
    assert (project["kind"], project["metadata"]["namespace"]) == ("AppProject", "argocd")
    assert project["spec"] == {
        "sourceRepos": ["*"],
        "sourceNamespaces": ["speech", "speech-dev"],
        "destinations": [
            {"server": server, "namespace": "speech"},
            {"server": server, "namespace": "speech-dev"},
        ],
        "clusterResourceWhitelist": [],
        "destinationServiceAccounts": [
            {
                "server": server,
                "namespace": name,
                "defaultServiceAccount": f"{name}:gpuyard-deploy",
            }
            for name in ("speech", "speech-dev")
        ],
    }


def test_tekton_installs_pipelines_alone_without_pods_outside_a_queue():
    groups = dict(object_groups(planned(["tekton"])))
    (config,) = groups["tekton-config"]
    assert config["spec"]["profile"] == "lite"
    assert config["spec"]["pipeline"] == {"coschedule": "disabled", "set-security-context": True}
    assert config["spec"]["config"]["nodeSelector"] == {"gpuyard.dev/pool": "system"}
