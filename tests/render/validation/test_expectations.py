"""What a node of each pool must be, as the plan tells the program that looks."""

import json

import sizes
from gpuyard.plan import plan as judged
from gpuyard.render.validation.expectations import (
    SCHEMA,
    expectations_text,
    work_expectations_text,
)
from gpuyard.render.validation.jobs import check_digest, node_digest
from gpuyard.render.validation.work import work_job_name
from gpuyard.spec.read import read_stack_file
from gpuyard_validator import expectations as program
from kit.every import every
from kit.stacks import cut_pool, plan_of, platform, pool

ROOT = sizes.ROOT
FILES = sorted([*ROOT.glob("stacks/Pulumi.*.yaml"), *ROOT.glob("tests/golden_stacks/*.yaml")])


def test_every_pool_of_every_stack_has_the_golden_expectations(golden):
    found = {}
    for path in FILES:
        plan, _ = judged(read_stack_file(path.read_bytes(), path.name).spec)
        for each in plan.pools if plan else ():
            text = expectations_text(plan, each)
            program.read_expectations(text)
            found[f"{path.stem}/{each.name}"] = json.loads(text)
    lines = [f"{json.dumps(name)}: {json.dumps(told)}" for name, told in sorted(found.items())]
    golden(ROOT / "tests/render/golden/expectations.json", "{\n" + ",\n".join(lines) + "\n}\n")


def told(spec, **rest):
    plan = plan_of(platform([spec], **rest))
    text = expectations_text(plan, plan.pools[0])
    return program.read_expectations(text) if text else None


def test_both_sides_mean_the_same_version():
    assert program.SCHEMA == SCHEMA


def test_layouts_and_what_the_stack_file_asks():
    cut = told(cut_pool(), validation={"image": "x"})
    assert (cut.required, cut.sharing, cut.gpus) == (True, "mig", 8)
    assert dict(cut.layouts[0].counts) == {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
    assert told(pool()).required is False
    assert told(pool(), validation={"required": False}).required is False


@every(
    "fabric, network",
    [
        (None, None),
        ({"kind": "ethernet"}, None),
        ({"kind": "infiniband"}, None),
        ({"kind": "infiniband", "hcas": ["mlx5_0", "mlx5_1"]}, ("infiniband", 2, None)),
        ({"kind": "roce", "hcas": ["mlx5_0", "mlx5_1"], "gbps": 800.0}, ("roce", 2, 400.0)),
    ],
)
def test_adapters_of_nodes_of_your_own(fabric, network):
    described = {"gpu": "H100", "gpus": 8, "cpu": 192, "memory_gib": 2048}
    found = told(pool(machine=described, **({"fabric": fabric} if fabric else {}))).network
    assert (found and (found.kind, found.devices, found.gbps_per_device)) == network


def test_adapters_of_a_machine_type_and_a_part_of_a_gpu():
    assert told(pool(), cloud="aws").network.devices == 32
    assert told(pool()).network is None, "who made these nodes is not known"
    assert told(pool(machine="g6f.xlarge"), cloud="aws") is None


LOWER = [
    {"pool": "train", "check": "pcie.width", "value": 8, "reason": "risers", "until": "2027-03-31"},
    {
        "pool": "train",
        "check": "work.memory",
        "value": 9,
        "reason": "keep_warm",
        "until": "2027-03-31",
    },
    {"pool": "serve", "check": "pcie.width", "value": 4, "reason": "old", "until": "2027-03-31"},
]


def lowered(*accepted, nodes=2):
    asked = {"image": "x", "profile": "full", "accepted_thresholds": list(accepted)}
    pools = [pool(nodes=nodes), cut_pool()]
    return plan_of(platform(pools, cloud="simulated", validation=asked))


def test_each_check_is_told_of_the_lower_floors_that_its_verdict_rests_on():
    plan = lowered(*LOWER)
    train, serve = plan.pools
    quick, other = (program.read_expectations(expectations_text(plan, p)) for p in (train, serve))
    work = program.read_expectations(work_expectations_text(plan, train, plan.validation.pools[0]))
    assert [(a.check, a.value, a.reason, a.until) for a in quick.accepted] == [
        ("pcie.width", 8.0, "risers", "2027-03-31")
    ]
    assert [a.check for a in work.accepted] == ["pcie.width", "work.memory"]
    assert [(a.check, a.value) for a in other.accepted] == [("pcie.width", 4.0)]


def test_nodes_are_looked_at_again_when_another_floor_is_accepted_for_them():
    """Those of the pool alone, and what puts no load on GPUs is not asked again for what does."""
    before, width, work = lowered(), lowered(LOWER[0]), lowered(LOWER[1])
    train, serve = ([plan.pools[n] for plan in (before, width, work)] for n in (0, 1))
    plans = (before, width, work)
    for digest in (check_digest, node_digest):
        one, two, three = (digest(plan, each) for plan, each in zip(plans, train, strict=True))
        assert one == three != two
        assert len({digest(plan, each) for plan, each in zip(plans, serve, strict=True)}) == 1
    names = {
        work_job_name(plan, each, plan.validation.pools[0])
        for plan, each in zip(plans, train, strict=True)
    }
    assert len(names) == 3
