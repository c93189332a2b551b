"""What NCCL is told of each fabric, as plans, screens and teams have it."""

from datetime import date

from gpuyard.cli.views.pool import pool_facts
from gpuyard.render.teams import team_objects
from gpuyard.spec.sections import FabricKind
from gpuyard_core.catalogue.cluster.nccl import RECORDS
from gpuyard_core.catalogue.fabric import GPUDIRECT, direct_fabric
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.terminal.documents import tree
from kit.every import every
from kit.stacks import plan_of, platform, pool, team

GIB = {
    "LD_LIBRARY_PATH": "/usr/local/gib/lib64:/usr/local/nvidia/lib64",
    "GPUYARD_NCCL_SCRIPT": "/usr/local/gib/scripts/set_nccl_env.sh",
}
TCPX = {
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_GPUDIRECTTCPX_CTRL_DEV": "eth0",
    "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME": "eth1,eth2,eth3,eth4",
    "NCCL_CROSS_NIC": "0",
    "NCCL_ALGO": "Ring",
    "NCCL_PROTO": "Simple",
    "NCCL_NSOCKS_PERTHREAD": "4",
    "NCCL_SOCKET_NTHREADS": "1",
}
TCPXO = {
    "NCCL_LIB_DIR": "/usr/local/nvidia/lib64",
    "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY": "/dev/aperture_devices",
    "GPUYARD_NCCL_SCRIPT": "/usr/local/nvidia/lib64/nccl-env-profile.sh",
}
OF_MACHINES = {
    **dict.fromkeys(("p4d.24xlarge", "p5.48xlarge", "p6-b200.48xlarge"), ("EFA", None)),
    "a3-highgpu-8g": ("GPUDirect-TCPX", TCPX),
    "a3-megagpu-8g": ("GPUDirect-TCPXO", TCPXO),
    **dict.fromkeys(("a3-ultragpu-8g", "a4-highgpu-8g"), ("GPUDirect-RDMA", GIB)),
    "g6.xlarge": (None, None),
}
OF_FABRICS = {
    "infiniband": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_0,mlx5_1"},
    "roce": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_0,mlx5_1"},
    "ethernet": {"NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1"},
}


def planned(**more):
    return plan_of(platform([pool(**more)], [team("a", guarantee={"train": 1}), team("b")]))


def config_map(plan, name="a"):
    found = [
        o["data"]
        for o in team_objects(plan, plan.team(name))
        if o["kind"] == "ConfigMap" and o["metadata"]["name"] == "nccl-train"
    ]
    return found[0] if found else None


@every(("machine", "wanted"), list(OF_MACHINES.items()))
def test_a_machine_says_which_fabric_it_has(machine, wanted):
    plan = planned(machine=machine)
    fabric, variables = wanted
    assert (plan.pools[0].nccl.fabric if plan.pools[0].nccl else None) == fabric
    assert config_map(plan) == variables


@every(("kind", "variables"), list(OF_FABRICS.items()))
def test_the_fabric_of_nodes_of_ones_own_is_in_the_stack_file(kind, variables):
    hcas = [] if kind == "ethernet" else ["mlx5_0", "mlx5_1"]
    plan = planned(fabric={"kind": kind, "hcas": hcas})
    assert config_map(plan) == variables
    assert tree(plan)["pools"][0]["nccl"]["fabric"] == kind


def test_without_names_nccl_takes_the_adapters_that_it_finds():
    assert config_map(planned(fabric={"kind": "roce"})) == {"NCCL_NET": "IB"}


def test_who_has_nothing_of_a_pool_and_a_pool_of_one_node_need_none():
    plan = planned(machine="a3-highgpu-8g")
    assert config_map(plan, "b") is None
    assert planned(machine="a3-highgpu-8g", nodes=1).pools[0].nccl is None


def test_the_screen_says_what_to_set_to_source_and_to_have():
    def said(**more):
        return dict(pool_facts(planned(**more).pools[0])).get("nccl")

    assert said(machine="p5.48xlarge") == (
        "EFA: aws-ofi-nccl in the image; FI_PROVIDER, NCCL_PROTO and NCCL_MIN_CHANNELS stay unset"
    )
    mega = said(machine="a3-megagpu-8g")
    assert "NCCL_LIB_DIR=/usr/local/nvidia/lib64; " in mega
    assert "source /usr/local/nvidia/lib64/nccl-env-profile.sh; " in mega
    assert said(fabric={"kind": "ethernet"}) == "ethernet: NCCL_NET=Socket; NCCL_IB_DISABLE=1"
    assert said(machine="g6.xlarge") is None


def test_every_fabric_of_the_catalogue_has_its_record():
    direct = {found.name for m in MACHINES.values() if (found := direct_fabric(m))}
    assert RECORDS.keys() == direct | {kind.value for kind in FabricKind}
    assert {one.name for one in GPUDIRECT.values()} <= RECORDS.keys()
    for record in RECORDS.values():
        assert record.source.checked_on >= date(2026, 11, 23)
        assert record.variables or record.needs
