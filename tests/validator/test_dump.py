"""The dump of a machine: what a plan needs of it, of sound machines alone, and where its nodes stand."""

import json
from dataclasses import replace

import jsonschema
import pytest

import sizes
from gpuyard_validator.command import main
from gpuyard_validator.host import Host
from gpuyard_validator.inventory import MachineInventory, inventory_document, schema
from gpuyard_validator.snapshot import CannotRead, NumaNode, snapshot_json
from gpuyard_validator.values import Missing, MissingReason, decode
from kit.cases.dumps import hall_machine, hall_nodes, node
from kit.cases.hardware import CARDS, CUTS, machine
from kit.every import every

FOLDER = sizes.ROOT / "tests" / "validator"
EXAMPLE = sizes.ROOT / "stacks" / "machines" / "hgx-h200.json"
UNKNOWN = Missing(MissingReason.FAILED)


def read(text):
    jsonschema.validate(json.loads(text), schema())
    return decode(MachineInventory, json.loads(text))


def test_the_schema_and_the_shipped_example_are_what_the_program_writes(golden):
    golden(FOLDER / "dump.schema.json", json.dumps(schema(), indent=2) + "\n")
    golden(EXAMPLE, inventory_document(hall_machine(), hall_nodes()))


@every("name", CARDS)
def test_every_machine_has_a_dump_that_fits_the_schema(name):
    found = read(inventory_document(machine(name, cut=name in CUTS)))
    assert len(found.gpus) == CARDS[name].gpus
    assert (found.numa, found.nodes) == ((), ())
    assert {gpu.numa for gpu in found.gpus} == {None}


def test_links_are_counted_and_gpus_that_do_not_reach_each_other_are_told():
    whole = hall_machine()
    assert (
        read(inventory_document(whole)).joined,
        read(inventory_document(whole)).gpus[0].nvlinks,
    ) == (
        True,
        18,
    )
    apart = replace(whole, gpus=(replace(whole.gpus[0], unreachable=(3,)), *whole.gpus[1:]))
    assert read(inventory_document(apart)).joined is False
    assert read(inventory_document(machine("T4"))).joined is None
    assert read(inventory_document(machine("T4"))).gpus[0].nvlinks is None


def test_what_a_host_does_not_say_is_empty():
    silent = replace(hall_machine(), adapters=UNKNOWN, numa=UNKNOWN, driver=UNKNOWN)
    found = read(inventory_document(silent))
    assert (found.adapters, found.numa, found.driver) == ((), (), None)


@every("change", [{"answers": False}, {"name": UNKNOWN}, {"memory_mib": UNKNOWN}])
def test_nothing_is_planned_by_a_machine_with_a_gpu_that_is_not_sound(change):
    whole = hall_machine()
    ill = replace(whole, gpus=(*whole.gpus[:7], replace(whole.gpus[7], **change)))
    with pytest.raises(CannotRead) as raised:
        inventory_document(ill)
    assert (
        str(raised.value)
        == "GPU 7 does not report its product: record the inventory on a healthy machine"
    )


def test_nodes_stand_in_order_with_the_labels_that_may_say_where():
    told = {
        "nvidia.com/gpu.clique": "d.1",
        "nvidia.com/gpu.count": "8",
        "network.topology.nvidia.com/leaf": "s1",
        "feature.node.kubernetes.io/pci": "true",
        "failure-domain.beta.kubernetes.io/zone": "z",
        "topology.kubernetes.io/zone": "z",
        "rack": "r1",
    }
    many = json.dumps({"kind": "NodeList", "items": [node("n2"), node("n1", **told)]})
    first, second = read(inventory_document(hall_machine(), many)).nodes
    assert (first.name, second.name) == ("n1", "n2")
    assert list(first.labels) == [
        "kubernetes.io/hostname",
        "network.topology.nvidia.com/leaf",
        "nvidia.com/gpu.clique",
        "rack",
        "topology.kubernetes.io/zone",
    ]
    alone = read(inventory_document(hall_machine(), json.dumps(node("n1", rack="r1")))).nodes
    assert [each.labels["rack"] for each in alone] == ["r1"]
    bare = json.dumps({"kind": "Node", "metadata": {"name": "n1"}})
    assert read(inventory_document(hall_machine(), bare)).nodes[0].labels == {}


@every(
    "text, said",
    [
        ("{", "not the output of `kubectl get nodes -o json` (JSONDecodeError)"),
        ("[]", "not the output of `kubectl get nodes -o json` (TypeError)"),
        ("{}", "not the output of `kubectl get nodes -o json` (KeyError)"),
        (
            '{"kind": 3, "metadata": {}}',
            "not the output of `kubectl get nodes -o json` (AttributeError)",
        ),
        (
            json.dumps({"kind": "Pod", "metadata": {"name": "p"}}),
            "a Pod is not a Node: use the output of `kubectl get nodes -o json`",
        ),
    ],
)
def test_what_is_no_list_of_nodes_is_told(text, said):
    with pytest.raises(CannotRead) as raised:
        inventory_document(hall_machine(), text)
    assert str(raised.value) == said


# ── the program ─────────────────────────────────────────────────────────────────────────────────────


def test_the_program_writes_it_from_a_recorded_machine(tmp_path, capsys):
    (tmp_path / "machine.json").write_text(snapshot_json(hall_machine()))
    (tmp_path / "nodes.json").write_text(hall_nodes())
    words = ["--snapshot", tmp_path / "machine.json", "--inventory", tmp_path / "dump.json"]
    assert main([*map(str, words), "--nodes", str(tmp_path / "nodes.json")]) == 0
    assert (tmp_path / "dump.json").read_text() == EXAMPLE.read_text()
    assert main(list(map(str, words))) == 0
    assert json.loads((tmp_path / "dump.json").read_text())["nodes"] == []
    assert main(["--inventory-schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


# ── the host's files ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def host(tmp_path):
    """A host with these files, as the kernel shows them."""

    def made(files):
        for name, text in files.items():
            file = tmp_path / "sys" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return Host(tmp_path, {})

    return made


def test_numa_nodes_are_those_with_cpus_in_the_order_of_their_numbers(host):
    nodes = "devices/system/node"
    found = host(
        {
            f"{nodes}/node10/cpulist": "4\n",
            f"{nodes}/node10/meminfo": "Node 10 MemTotal:       2097152 kB\n",
            f"{nodes}/node0/cpulist": "0-1,96-97\n",
            f"{nodes}/node0/meminfo": "Node 0 MemFree: 1 kB\nNode 0 MemTotal:       1048576 kB\n",
            f"{nodes}/node2/cpulist": "\n",
            f"{nodes}/node2/meminfo": "Node 2 MemTotal:       1048576 kB\n",
            f"{nodes}/node3/cpulist": "7\n",
            f"{nodes}/node3/meminfo": "Node 3 MemFree: 1 kB\n",
        }
    ).numa()
    assert found == (
        NumaNode(index=0, cpus=4, memory_mib=1024),
        NumaNode(index=10, cpus=1, memory_mib=2048),
    )


def test_a_kernel_that_lists_no_numa_node_says_nothing(host):
    assert host({}).numa() == Missing(MissingReason.FAILED, "the kernel lists no NUMA node")


@every(
    "text, answer",
    [
        ("1\n", 1),
        ("-1\n", Missing(MissingReason.NOT_SUPPORTED, "numa_node is -1")),
        (None, Missing(MissingReason.NOT_SUPPORTED, "numa_node is empty")),
    ],
)
def test_a_device_lies_where_the_kernel_says(host, text, answer):
    at = "bus/pci/devices/0000:1b:00.0/numa_node"
    found = host({at: text or ""})
    assert found.numa_of("00000000:1B:00.0") == answer


def test_an_adapter_has_the_numa_node_of_its_device(host):
    at = "class/infiniband/mlx5_0"
    (found,) = host(
        {f"{at}/device/numa_node": "1\n", f"{at}/ports/1/state": "4: ACTIVE\n"}
    ).adapters()
    assert (found.name, found.numa, found.active) == ("mlx5_0", 1, True)
