"""Dumps of machines of one's own: what a plan takes from one, and what it says against the stack."""

import json
from dataclasses import replace

import sizes
from gpuyard.plan.pools.inventories.machine import topology_levels, with_numa_nodes
from gpuyard.render.kueue.queueing import topology_objects
from gpuyard.render.validation.expectations import expectations_text
from gpuyard.spec.read import platform_spec, read_platform
from gpuyard.spec.sections import MachineInventory, Numa
from gpuyard_core.catalogue.topology import place_rank
from gpuyard_core.errors import UsageError
from gpuyard_validator import inventory as written
from kit.cases.dumps import hall_dump
from kit.every import every
from kit.stacks import findings, ids, only, plan_of, platform, pool, shape

HALL = {"gpu": "H200-141", "gpus": 8, "cpu": 192, "memory_gib": 2048}
ROW, RACK = "site.example/row", "site.example/rack"


def hall(inventory=None, **rest):
    """A pool of the hall's eight nodes."""
    more = {"fabric": {"kind": "infiniband"}, **rest}
    return pool(
        machine=HALL, nodes=8, inventory=hall_dump() if inventory is None else inventory, **more
    )


def first(one, **rest):
    return plan_of(platform([one], **rest)).pools[0]


def nodes(*labels):
    return [{"name": f"n{n}", "labels": each} for n, each in enumerate(labels)]


def gpus(**change):
    """Those of the hall, the last one with this instead."""
    found = hall_dump()["gpus"]
    return [*found[:-1], found[-1] | change]


# ── what the plan takes ─────────────────────────────────────────────────────────────────────────────


def test_levels_adapters_numa_and_what_jobs_are_told_come_from_the_dump():
    plan = plan_of(platform([hall(topology=True)], shapes=[shape(pool="train", gpus_per_node=8)]))
    found = plan.pools[0]
    names = tuple(f"mlx5_{n}" for n in range(8))
    assert found.topology_levels == (ROW, RACK, "kubernetes.io/hostname")
    assert (found.numa, found.machine.numa_nodes) == (Numa.RESTRICTED, 2)
    assert (found.fabric.hcas, found.fabric.gbps) == (names, 3200)
    assert found.nccl.variables["NCCL_IB_HCA"] == f"={','.join(names)}"
    network = json.loads(expectations_text(plan, found))["network"]
    assert network == {
        "kind": "infiniband",
        "devices": 8,
        "names": list(names),
        "gbps_per_device": 400.0,
    }
    (topology,) = topology_objects(plan)
    assert [each["nodeLabel"] for each in topology["spec"]["levels"]] == [
        ROW,
        RACK,
        "kubernetes.io/hostname",
    ]


def test_without_a_dump_nothing_of_it_is_known():
    found = first(pool(machine=HALL, nodes=8, fabric={"kind": "infiniband"}))
    assert found.topology_levels == ("kubernetes.io/hostname",)
    assert (found.numa, found.fabric.hcas) == (Numa.NONE, ())


def test_what_the_stack_file_says_of_a_fabric_stands():
    found = first(hall(fabric={"kind": "infiniband", "hcas": ["mlx5_1:1"], "gbps": 200}))
    assert (found.fabric.hcas, found.fabric.gbps) == (("mlx5_1:1",), 200)
    assert first(hall(fabric={"kind": "infiniband", "hcas": ["mlx5_1:1"]})).fabric.gbps == 400
    assert first(hall(fabric={"kind": "ethernet"})).fabric.hcas == ()
    assert first(hall(fabric=None)).fabric is None


def test_over_ethernet_the_fast_adapters_that_are_up_are_taken():
    told = hall_dump()["adapters"]
    ethernet = [each | {"link": "Ethernet"} for each in told]
    ethernet[0]["active"] = False
    found = first(hall(hall_dump(adapters=ethernet), fabric={"kind": "roce"}))
    assert found.fabric.hcas == tuple(f"mlx5_{n}" for n in range(1, 8))


def test_a_fabric_whose_adapters_are_down_is_refused_with_what_is_up():
    finding, _ = findings(platform([hall(hall_dump(adapters=[]))]))
    assert (finding.id, finding.where) == ("pool.dump_adapters", "pools[0].fabric.kind")
    assert str(finding).endswith(
        "h200-a1-1 has no active InfiniBand adapter\n  given: infiniband\n  allowed: active "
        "adapters: none\n  fix: activate its ports and create the inventory again, or write the "
        "existing fabric"
    )
    storage = hall_dump(adapters=[hall_dump()["adapters"][8]])
    finding, _ = findings(platform([hall(storage)]))
    assert finding.allowed == "active adapters: mlx5_8 (Ethernet)"


def test_one_numa_node_may_have_more_gpus_than_another():
    machine = first(hall()).machine
    uneven = MachineInventory.model_validate(hall_dump(gpus=gpus(numa=0)))
    assert (machine.numa_nodes, machine.gpus_in_numa) == (2, None)
    assert with_numa_nodes(machine, uneven).gpus_in_numa == 5
    unknown = [each | {"numa": None} for each in hall_dump()["gpus"]]
    assert (
        with_numa_nodes(
            machine, MachineInventory.model_validate(hall_dump(gpus=unknown))
        ).gpus_in_numa
        is None
    )
    bare = replace(machine, numa_nodes=None)
    assert with_numa_nodes(bare, MachineInventory.model_validate(hall_dump(numa=[]))) == bare
    assert with_numa_nodes(bare, None) == bare


def test_a_pod_of_five_gpus_fits_where_one_numa_node_has_five():
    def said(per_node):
        one = hall(hall_dump(gpus=gpus(numa=0)), numa="single-numa-node")
        raw = platform([one], shapes=[shape(pool="train", gpus_per_node=per_node)])
        return [f for f in findings(raw) if f.id == "numa.single_node"]

    (fits,), (wide,) = said(5), said(6)
    assert (fits.severity.value, wide.severity.value) == ("warning", "error")
    assert "h200x8 has 2 NUMA nodes with at most 5 GPUs each; a pod of shape job" in wide.problem


# ── levels ──────────────────────────────────────────────────────────────────────────────────────────


@every(
    "key, rank",
    [
        ("topology.kubernetes.io/zone", 0),
        ("cloud.provider.com/topology-rack", place_rank("rack")),
        ("site.example/subblock", place_rank("sub-block") - 1),
        ("fabric.topograph.run/tier-0", 100),
        ("fabric.topograph.run/tier-2", 98),
        ("fabric.topograph.run/tier-x", None),
        ("fabric.topograph.run/tier-10", None),
        ("kubernetes.io/hostname", None),
        ("accelerator.topograph.run/domain", None),
        ("site.example/tracks", None),
    ],
)
def test_labels_of_places_are_known_by_their_last_word(key, rank):
    assert place_rank(key) == rank


@every(
    "labels, levels",
    [
        # one node tells nothing of which is wider: the words do
        ([{"rack": "r1", "row": "a"}], ("row", "rack")),
        # a rack is called the same in each row: the words still do
        ([{"rack": "1", "row": "a"}, {"rack": "1", "row": "b"}], ("row", "rack")),
        ([{"rack": r, "row": x} for r in "12" for x in "ab"], ("row", "rack")),
        # here each block lies in one rack, whatever they are called elsewhere
        (
            [{"rack": "1", "block": "x"}, {"rack": "1", "block": "y"}, {"rack": "2", "block": "z"}],
            ("rack", "block"),
        ),
        (
            [
                {"fabric.topograph.run/tier-0": "s1", "fabric.topograph.run/tier-1": "t"},
                {"fabric.topograph.run/tier-0": "s2", "fabric.topograph.run/tier-1": "t"},
            ],
            ("fabric.topograph.run/tier-1", "fabric.topograph.run/tier-0"),
        ),
        ([{"rack": "r1"}, {"row": "a"}], ()),
        ([], ()),
    ],
)
def test_levels_go_from_wide_to_narrow(labels, levels):
    assert (
        topology_levels(MachineInventory.model_validate(hall_dump(nodes=nodes(*labels)))) == levels
    )


def test_several_nodes_without_a_label_are_told_together():
    told = hall_dump(nodes=nodes({"rack": "1"}, {}, {}))
    finding = only(platform([hall(told)]))
    assert "n1, n2 have no such label" in finding.problem
    assert finding.given == "rack on 1 of 3 nodes"


# ── another machine ─────────────────────────────────────────────────────────────────────────────────


def test_gpus_that_are_not_alike_are_no_pool():
    finding = only(platform([hall(hall_dump(gpus=gpus(name="NVIDIA H100 80GB HBM3")))]))
    assert (finding.id, finding.where) == ("pool.dump_machine", "pools[0].inventory")
    assert "has different GPUs: NVIDIA H100 80GB HBM3, NVIDIA H200" in finding.problem


def test_a_gpu_that_nobody_knows_is_no_reason_to_refuse():
    strange = [each | {"name": "NVIDIA Z1"} for each in hall_dump()["gpus"]]
    finding = only(platform([hall(hall_dump(gpus=strange))]))
    assert (finding.severity.value, finding.given) == ("warning", "NVIDIA Z1")


@every(
    "change, given",
    [
        ({"joined": False}, "18 links up, every pair connected: no"),
        ({"joined": None}, "18 links up, every pair connected: no"),
        ({"gpus": gpus(nvlinks=12)}, "12, 18 links up, every pair connected: yes"),
        ({"gpus": gpus(nvlinks=None)}, "0, 18 links up, every pair connected: yes"),
    ],
)
def test_a_machine_whose_links_are_not_whole_is_none_to_plan_by(change, given):
    finding = only(platform([hall(hall_dump(**change))]))
    assert (finding.id, finding.severity.value, finding.given) == (
        "pool.dump_machine",
        "warning",
        given,
    )


def test_gpus_without_links_are_asked_for_none():
    bare = [each | {"name": "NVIDIA L40S", "nvlinks": None} for each in hall_dump()["gpus"]]
    one = hall(hall_dump(gpus=bare, joined=None))
    one["machine"] = HALL | {"gpu": "L40S"}
    alone = hall(hall_dump(gpus=hall_dump()["gpus"][:1], joined=None))
    alone["machine"] = HALL | {"gpus": 1}
    assert ids(platform([one])) == ids(platform([alone])) == []


def test_a_host_that_says_nothing_is_held_against_nothing():
    huge = hall(hall_dump(numa=[]))
    huge["machine"] = HALL | {"cpu": 4000, "memory_gib": 9000}
    assert ids(platform([huge])) == []


def test_a_machine_type_with_another_number_of_gpus_is_to_be_described():
    half = hall(hall_dump(gpus=hall_dump()["gpus"][:4]))
    half["machine"] = "p5en.48xlarge"
    finding = only(platform([half]))
    assert finding.where == "pools[0].machine"
    assert finding.fix.message == "describe the machine: {gpu, gpus, cpu, memory_gib}"


# ── the file ────────────────────────────────────────────────────────────────────────────────────────


def test_what_stands_in_the_file_takes_the_place_of_its_name():
    raw = platform([hall("hall.json"), pool("other")])
    reading = read_platform(raw, files={"hall.json": json.dumps(hall_dump()).encode()}.__getitem__)
    assert reading.findings == ()
    assert reading.spec == platform_spec(platform([hall(), pool("other")]))


def test_a_name_that_nobody_reads_is_refused():
    finding = only(platform([hall("hall.json", fabric=None)]))
    assert str(finding) == (
        "pools[0].inventory: the machine inventory cannot be read: "
        "a platform passed as a value cannot name a file\n  given: hall.json\n"
        "  allowed: a file written by `gpuyard validate --inventory FILE`, as a path relative to Pulumi.yaml"
    )


@every("data, why", [(b"[]", "not a machine inventory"), (b"\xff", "not JSON")])
def test_a_file_that_is_no_dump_hides_nothing_else(data, why):
    def files(_name):
        return data

    broken = read_platform(platform([hall("d"), pool("other", machine="p5.48xlrge")]), files=files)
    assert [(f.id, why in f.problem) for f in broken.findings] == [("pool.dump_file", True)]
    assert broken.spec is None
    assert broken.checkable_spec.pools[0].inventory is None


def test_who_reads_files_says_why_there_is_none():
    def files(name):
        raise UsageError(f"{name}: no such file")

    (finding,) = read_platform(platform([hall("d")]), files=files).findings
    assert "d: no such file" in finding.problem


@every("value", ["text", {"pools": "x"}, {"pools": ["x", {"inventory": 7}]}])
def test_what_is_no_platform_is_left_to_others(value):
    found = read_platform(value, files=lambda _: b"").findings
    assert found
    assert "pool.dump_file" not in {each.id for each in found}


# ── both programs have one document ─────────────────────────────────────────────────────────────────


def shape_of(schema, definitions):
    """What a schema asks for, whoever has written it: types and names of fields."""
    if "$ref" in schema:
        return shape_of(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return {"or": [shape_of(each, definitions) for each in schema["anyOf"]]}
    if schema.get("type") == "array":
        return [shape_of(schema["items"], definitions)]
    if "properties" in schema:
        fields = schema["properties"]
        assert sorted(schema["required"]) == sorted(fields)
        assert schema["additionalProperties"] is False
        return {name: shape_of(each, definitions) for name, each in fields.items()}
    if schema.get("type") == "object":
        values = schema.get("patternProperties", {}).values()
        (value,) = values or [schema["additionalProperties"]]
        return {"*": shape_of(value, definitions)}
    return schema.get("const") or schema["type"]


def test_the_program_that_writes_and_the_spec_that_reads_have_one_schema():
    read = MachineInventory.model_json_schema()
    assert shape_of(read, read["$defs"]) == shape_of(written.schema(), {})


def test_the_shipped_example_is_a_dump_that_the_plan_takes():
    file = sizes.ROOT / "stacks" / "machines" / "hgx-h200.json"
    assert ids(platform([hall(json.loads(file.read_text(encoding="utf-8")))])) == []


def test_a_machine_without_adapters_is_no_reason_to_say_anything():
    assert ids(platform([hall(hall_dump(adapters=[]), fabric=None)])) == []
