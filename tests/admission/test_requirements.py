"""The parameters of a team, and how names of images are read."""

import pytest

from gpuyard.render.admission.team_parameters import enforcement, parameters_of
from gpuyard.spec.sections import Enforce
from gpuyard_core.admission.bypass import check_pod_bypass
from gpuyard_core.admission.host import exposes_device_path
from gpuyard_core.admission.images import is_allowed_image, normalized_prefix, repository
from gpuyard_core.admission.parameters import SHARES, TeamParameters, read_parameters
from gpuyard_core.admission.placement import NOT_OF_TEAMS, check_placement, check_shares
from gpuyard_core.admission.requirement import Workload, new_violation
from gpuyard_core.admission.requirements import REQUIREMENTS, denials
from gpuyard_core.manifests.pods import Pod, Taint
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

DIGEST = "@sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("nginx", "docker.io/library/nginx"),
        ("nginx:1.27", "docker.io/library/nginx"),
        (f"nginx:1.27{DIGEST}", "docker.io/library/nginx"),
        ("nginx/nginx", "docker.io/nginx/nginx"),
        ("docker.io/nginx", "docker.io/library/nginx"),
        ("index.docker.io/nginx", "docker.io/library/nginx"),
        ("index.docker.io/a/b", "docker.io/a/b"),
        ("nvcr.io/nvidia/pytorch:26.10-py3", "nvcr.io/nvidia/pytorch"),
        ("host:5000/a", "host:5000/a"),
        ("host:5000/a:1", "host:5000/a"),
        ("localhost/a", "localhost/a"),
        ("Host/a", "Host/a"),
        ("host/a", "docker.io/host/a"),
        ("example.org", "docker.io/library/example.org"),
    ],
)
def test_a_repository_in_full(image, full):
    assert repository(image) == full


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("nvcr.io", "nvcr.io"),
        ("nvcr.io/", "nvcr.io"),
        ("host:5000", "host:5000"),
        ("localhost", "localhost"),
        ("docker.io", "docker.io"),
        ("index.docker.io", "docker.io"),
        ("index.docker.io/nvidia", "docker.io/nvidia"),
        ("docker.io/nvidia", "docker.io/nvidia"),
        ("nvidia/cuda", "docker.io/nvidia/cuda"),
        ("nginx", "docker.io/library/nginx"),
        ("registry.example.org/team/", "registry.example.org/team"),
    ],
)
def test_a_prefix_in_full(given, full):
    assert normalized_prefix(given) == full


@pytest.mark.parametrize(
    ("image", "prefixes", "fits"),
    [
        ("docker.io/nvidia/cuda:13", ("docker.io/nvidia",), True),
        ("nvidia/cuda:13", ("docker.io/nvidia",), True),
        ("nvidia", ("docker.io/nvidia",), False),
        ("nginx", ("docker.io",), True),
        ("nvcr.io/a", ("nvcr.io/ab",), False),
        ("nvcr.io/ab", ("nvcr.io/a",), False),
        ("nvcr.io:443/a", ("nvcr.io",), False),
        ("nvcr.io/a", ("quay.io", "nvcr.io"), True),
        ("nvcr.io/a", (), False),
    ],
)
def test_a_prefix_ends_where_a_part_of_the_path_does(image, prefixes, fits):
    assert is_allowed_image(image, prefixes) is fits


@pytest.mark.parametrize(
    ("path", "does"),
    [
        ("/", True),
        ("//", True),
        ("/dev", True),
        ("/dev/", True),
        ("/./dev//nvidia0", True),
        ("/devs", False),
        ("/var", True),
        ("/var/log", False),
        ("/var/lib/kubelet", True),
        ("/var/lib/kubelet/pods", False),
        ("/var/run/docker.sock", True),
        ("/var/run/docker.sock.old", False),
        ("/mnt/dev", False),
    ],
)
def test_what_hands_out_devices(path, does):
    assert exposes_device_path(path) is does


DRIVERS = ("secrets-store.csi.k8s.io", "gcsfuse.csi.storage.gke.io")
"""What a platform allows that says nothing."""


def teams_of(*teams, **more):
    return plan_of(platform([pool(nodes=8)], list(teams), **more))


def test_a_team_has_what_the_platform_says_unless_it_says_itself():
    own = team("own", guarantee={"train": 8}, allowed_images=["nvcr.io/team/"])
    usual = team("usual", guarantee={"train": 8}, queues={"main": 1.0, "fast": 2.0})
    plan = teams_of(
        own, usual, admission={"allowed_images": ["nginx", "nginx"], "guaranteed": False}
    )
    assert parameters_of(plan, plan.team("own")) == TeamParameters(
        allowed_image_prefixes=("nvcr.io/team",),
        taints=(),
        guaranteed=False,
        queues=("default",),
        csi_drivers=DRIVERS,
    )
    assert parameters_of(plan, plan.team("usual")) == TeamParameters(
        allowed_image_prefixes=("docker.io/library/nginx",),
        taints=(),
        guaranteed=False,
        queues=("fast", "main"),
        csi_drivers=DRIVERS,
    )
    assert not parameters_of(plan, plan.team("usual")).has_default


def test_without_a_section_everything_is_refused_that_can_be_and_images_are_free():
    plan = teams_of(team("a", guarantee={"train": 8}))
    assert enforcement(plan) is Enforce.DENY
    assert parameters_of(plan, plan.teams[0]) == TeamParameters(csi_drivers=DRIVERS)


def test_priorities_are_the_platforms_and_drivers_what_it_says():
    admission = {"csi_drivers": ["csi.example.org"]}
    plan = teams_of(
        team("a", guarantee={"train": 8}), admission=admission, priorities={"low": 1, "high": 9}
    )
    found = parameters_of(plan, plan.teams[0])
    assert set(found.priorities) == {"low", "high"}
    assert found.csi_drivers == ("csi.example.org",)


def test_a_team_may_not_tolerate_the_pools_of_others():
    pools = [pool("train"), pool("vip", owners=["a"]), pool("both", owners=["a", "b"])]
    teams = [team("a", guarantee={"vip": 8, "both": 8}), team("b", guarantee={"both": 8})]
    plan = plan_of(platform(pools, teams))
    assert parameters_of(plan, plan.team("a")).taints == ()
    assert parameters_of(plan, plan.team("b")).taints == (Taint("gpuyard.dev/pool", "vip"),)


def test_a_team_may_tolerate_a_shared_pool_only_where_it_has_something():
    pools = [pool(), cut_pool(), shared_pool()]
    teams = [
        team("a", guarantee={"train": 8}, borrow={"serve/3g.20gb": 1}),
        team("b", guarantee={"train": 8, "serve/3g.20gb": 0}, borrow={"dev/shared": 1}),
    ]
    plan = plan_of(platform(pools, teams))
    assert parameters_of(plan, plan.team("a")).taints == (Taint("gpuyard.dev/pool", "dev"),)
    assert parameters_of(plan, plan.team("b")).taints == (Taint("gpuyard.dev/pool", "serve"),)


def test_service_accounts_that_work_for_a_team_are_known_as_its_own():
    groups = ["makers", "system:serviceaccounts:pipelines"]
    plan = teams_of(team("a", guarantee={"train": 8}, groups=groups))
    found = parameters_of(plan, plan.teams[0])
    assert found.accounts == ("system:serviceaccounts:pipelines",)


def test_a_team_whose_gpus_gke_shares_is_told_that_they_are_shares():
    place = {"machine": "a2-highgpu-8g", "zones": ["us-central1-a"], "nodes": 2}
    pools = [pool(**place), pool("dev", image="cos-gke", sharing={"time_slicing": 4}, **place)]
    teams = [team("a", guarantee={"train": 8}), team("b", borrow={"dev/shared": 8})]
    plan = plan_of(platform(pools, teams, cloud="gcp"))
    whole, shared = (parameters_of(plan, plan.team(name)) for name in ("a", "b"))
    assert (whole.shares, shared.shares) == ((), ("nvidia.com/gpu",))
    assert SHARES not in whole.annotations()
    assert shared.annotations()[SHARES] == "nvidia.com/gpu"
    two = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 2}}}]}
    asked = Workload("Pod", {}, (Pod((), {}, two),))
    assert list(check_shares(asked, whole)) == []
    (slip,) = check_shares(asked, shared)
    assert slip.problem.startswith("container c requests more than one nvidia.com/gpu")


@pytest.mark.parametrize(
    "limits",
    [
        TeamParameters(),
        TeamParameters(shares=("nvidia.com/gpu",)),
        TeamParameters(max_grace_period_seconds=900),
        TeamParameters(allowed_image_prefixes=(), taints=(), guaranteed=False, queues=("main",)),
        TeamParameters(
            allowed_image_prefixes=("nvcr.io", "docker.io/library"),
            taints=(Taint("gpuyard.dev/pool", "vip"), Taint("a/b", "", "NoExecute")),
            queues=("main", "default"),
            accounts=("system:serviceaccounts:pipelines",),
            priority_classes=("usual", "night"),
            priorities=("high", "low"),
            csi_drivers=DRIVERS,
        ),
    ],
)
def test_parameters_are_read_back_as_they_were_written(limits):
    annotations = limits.annotations()
    assert all(isinstance(value, str) for value in annotations.values())
    assert read_parameters(annotations) == limits


@pytest.mark.parametrize(
    ("admission", "queueing", "longest"),
    [
        ({}, {}, 300),
        ({"max_grace_period_seconds": 900}, {}, 900),
        ({}, {"interruption": {"checkpoint_interval_minutes": 10}}, 300),
        ({}, {"interruption": {"checkpoint_interval_minutes": 20, "checkpoint_seconds": 600}}, 600),
    ],
)
def test_pods_with_gpus_end_in_the_time_that_the_platform_gives_them(admission, queueing, longest):
    plan = plan_of(
        platform(
            [pool()],
            [team("vision", guarantee={"train": 8})],
            admission=admission,
            queueing=queueing,
        )
    )
    assert parameters_of(plan, plan.teams[0]).max_grace_period_seconds == longest


def test_a_pod_with_too_many_containers_is_told_that_alone():
    image = {"name": "a", "image": "i", "securityContext": {"privileged": True}}
    debuggers = {"ephemeralContainers": [{"name": "d", "image": "i"}]}

    def said(containers, first, was=None):
        spec = {"containers": [image] * containers, "initContainers": [image] * first, **debuggers}
        made = Workload("Pod", {}, (Pod((), {}, spec),), previous=was)
        return made, [each.summary for each in denials(made, TeamParameters())]

    fits, of_each = said(30, 10)
    assert len(of_each) == 40
    crowded, words = said(31, 10)
    slip = new_violation("termination.CROWDED", (), most="40")
    assert words == [f"GPU-ADM-08: {slip.problem}; {slip.fix}"]
    assert said(31, 10, was=fits)[1] == words
    assert words[0] not in said(32, 10, was=crowded)[1]


def test_every_requirement_has_an_id_of_its_own():
    ids = [requirement.id for requirement in REQUIREMENTS]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("more", [{"operator": "Exists"}, {"value": "hold"}])
def test_the_brake_of_a_pool_is_tolerated_by_nobody(more):
    spec = {"containers": [], "tolerations": [{"key": "gpuyard.dev/stop", **more}]}
    (slip,) = check_placement(Workload("Pod", {}, (Pod((), {}, spec),)), TeamParameters())
    assert slip.path == ("spec", "tolerations", 0)
    assert "bypasses the stop policy of a stopped pool" in slip.problem


@pytest.mark.parametrize(
    ("annotation", "gpus", "refused"),
    [
        ("cdi.k8s.io/a", 1, True),
        ("devices.nri.io", 1, True),
        ("devices.nri.io/container.a", 0, True),
        ("cdi-devices.nri.io/pod", 1, True),
        ("mounts.nri.io/container.a", 0, True),
        ("devices.gke.io/container.a", 0, True),
        ("devices.gke.io/container.a", 8, False),
        ("networking.gke.io/interfaces", 0, False),
    ],
)
def test_annotations_name_no_devices_to_plugins_of_the_runtime(annotation, gpus, refused):
    limits = {"nvidia.com/gpu": gpus}
    spec = {"containers": [{"name": "a", "resources": {"limits": limits}}]}
    pod = Pod((), {"annotations": {annotation: "- path: /dev/nvidia0"}}, spec)
    found = [slip.path for slip in check_pod_bypass(pod)]
    assert found == ([("metadata", "annotations", annotation)] if refused else [])


@pytest.mark.parametrize("key", NOT_OF_TEAMS)
def test_a_node_of_the_clusters_own_programs_is_tolerated_by_nobody(key):
    spec = {"containers": [], "tolerations": [{"key": key, "operator": "Exists"}]}
    workload = Workload("Pod", {}, (Pod((), {}, spec),))
    (slip,) = check_placement(workload, TeamParameters())
    assert slip.path == ("spec", "tolerations", 0)
    assert slip.problem.startswith(f"the toleration of {key} allows the pod on a node closed")
