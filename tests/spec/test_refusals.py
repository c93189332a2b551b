"""Errors of the models: path, problem, given value, allowed values and fix."""

import pytest

from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.read import platform_spec, read_platform
from gpuyard.spec.teams import Team
from gpuyard_core.errors import SpecError
from gpuyard_core.findings import Severity
from gpuyard_core.models.problems import format_input
from gpuyard_core.suggestions import nearest_name
from kit.every import every
from kit.stacks import cut_pool, platform, pool, shape, team

RUNGS = "reserved, block, flex-start, spot, on-demand"
P0 = ("pools", 0)

# id, what is wrong, path, problem, given, allowed, fix
TABLE = [
    (
        "spec.range_form",
        platform([pool(nodes="x")]),
        (*P0, "nodes"),
        "not a number of nodes or a range",
        "'x'",
        "a number of nodes, or LOW..HIGH such as 0..16",
        "write for example 0..4",
    ),
    (
        "spec.range_size",
        platform([pool(nodes=99999)]),
        (*P0, "nodes"),
        "out of bounds for a number of nodes",
        "99999",
        "0 to 10000 nodes in a pool",
        "write 10000; use several pools for more nodes",
    ),
    (
        "spec.memory_form",
        platform([pool(machine={"gpu": "L4", "gpus": 1, "cpu": 4, "memory_gib": "much"})]),
        (*P0, "machine", "memory_gib"),
        "not an amount of memory",
        "'much'",
        "GiB, for example 64, 64GiB, 80GB or 2TB",
        "write for example 64",
    ),
    (
        "spec.gpu_indexes",
        platform([cut_pool(sharing={"mig": [{"gpus": "x", "7g.40gb": 1}]})]),
        (*P0, "sharing", "mig", 0, "gpus"),
        "not GPU indexes",
        "'x'",
        "an index, a range such as 0-3, or a list such as [0, 2]",
        "write 0-3",
    ),
    *(
        (
            "spec.mig_form",
            platform([cut_pool(sharing={"mig": profile})]),
            (*P0, "sharing", "mig"),
            "a profile without a count is not a layout",
            f"'{profile}'",
            "each profile with its number of slices per GPU",
            f"write {{{profile}: {count}}}, or another number",
        )
        for profile, count in (("2g.10gb", 3), ("7g.40gb", 1))
    ),
    (
        "spec.name_form",
        platform(name="My Lab"),
        ("name",),
        "not a valid name for Kubernetes and the clouds",
        "'My Lab'",
        "lower-case letters, digits and dashes, starting with a letter, at most 40",
        "write my-lab",
    ),
    (
        "spec.rung_form",
        platform([pool(capacity=[{"nodes": 2}])]),
        (*P0, "capacity", 0),
        "a capacity option needs exactly one way to buy nodes",
        "{'nodes': 2}",
        RUNGS + ", or {reserved: ID, nodes: N}",
        "write spot: true",
    ),
    (
        "spec.rung_form",
        platform([pool(capacity=[{"spot": None, "reserved": "x"}])]),
        (*P0, "capacity", 0),
        "a capacity option needs exactly one way to buy nodes",
        "{'spot': None, 'reserved': 'x'}",
        RUNGS + ", or {reserved: ID, nodes: N}",
        "write spot as a separate capacity option",
    ),
    (
        "spec.rung_reservation",
        platform([pool(capacity=["reserved"])]),
        (*P0, "capacity", 0),
        "reserved needs a reservation id and its number of nodes",
        "'reserved'",
        "{reserved: RESERVATION-ID, nodes: N}",
        None,
    ),
    (
        "spec.rung_reservation",
        platform([pool(capacity=[{"block": "cb-1"}])]),
        (*P0, "capacity", 0),
        "block needs a reservation id and its number of nodes",
        "{'block': 'cb-1'}",
        "{block: RESERVATION-ID, nodes: N}",
        None,
    ),
    (
        "spec.rung_reservation",
        platform([pool(capacity=[{"spot": "cr-1"}])]),
        (*P0, "capacity", 0),
        "spot takes no reservation id",
        "{'spot': 'cr-1'}",
        "spot",
        "remove the reservation id",
    ),
    (
        "spec.unknown_word",
        platform([pool(capacity=["spott"])]),
        (*P0, "capacity", 0),
        "not a valid value",
        "'spott'",
        RUNGS,
        "write spot",
    ),
    (
        "spec.unknown_word",
        platform(cloud="azure"),
        ("cloud",),
        "not a valid value",
        "'azure'",
        "aws, gcp, none, simulated",
        None,
    ),
    (
        "spec.sharing_methods",
        platform([cut_pool(sharing={"mig": {"7g.40gb": 1}, "mps": 2})]),
        (*P0, "sharing"),
        "mps and mig cannot be combined on one GPU",
        "{'mig': {'7g.40gb': 1}, 'mps': 2}",
        "mps alone, or mig with time_slicing",
        "use time_slicing instead of mps",
    ),
    (
        "spec.sharing_methods",
        platform([pool(sharing={"time_slicing": 2, "mps": 2})]),
        (*P0, "sharing"),
        "mps and time_slicing cannot be combined on one GPU",
        "{'time_slicing': 2, 'mps': 2}",
        "mps alone, or mig with time_slicing",
        "remove time_slicing",
    ),
    (
        "spec.per_pod_form",
        platform(shapes=[shape(per_pod={"cpu": 1})]),
        ("shapes", 0, "per_pod"),
        "a pod requests either a slice, shares, or GPU memory and compute",
        "{'cpu': 1}",
        "slice: PROFILE, or shares: N, or gpu_memory_gib and compute_percent",
        None,
    ),
    (
        "spec.per_pod_form",
        platform(shapes=[shape(per_pod={"slice": "1g.5gb", "shares": 1})]),
        ("shapes", 0, "per_pod"),
        "a pod requests either a slice, shares, or GPU memory and compute",
        "{'slice': '1g.5gb', 'shares': 1}",
        "slice: PROFILE, or shares: N, or gpu_memory_gib and compute_percent",
        "remove `shares`",
    ),
    (
        "spec.per_pod_form",
        platform(shapes=[shape(per_pod={"slice": "1g.5gb", "gpu_memory_gib": 4})]),
        ("shapes", 0, "per_pod"),
        "`slice` cannot be combined with requirements that pick a slice or share",
        "{'slice': '1g.5gb', 'gpu_memory_gib': 4}",
        "slice: PROFILE, or shares: N, or gpu_memory_gib and compute_percent",
        "remove `gpu_memory_gib`",
    ),
    (
        "spec.per_pod_form",
        platform(
            shapes=[shape(per_pod={"shares": 1, "compute_percent": 4.0, "latency": "strict"})]
        ),
        ("shapes", 0, "per_pod"),
        "`shares` cannot be combined with requirements that pick a slice or share",
        "{'shares': 1, 'compute_percent': 4.0, 'latency': 'strict'}",
        "slice: PROFILE, or shares: N, or gpu_memory_gib and compute_percent",
        None,
    ),
    (
        "spec.per_pod_form",
        platform(shapes=[shape(per_pod={"latency": "strict"})]),
        ("shapes", 0, "per_pod"),
        "a pod requests either a slice, shares, or GPU memory and compute",
        "{'latency': 'strict'}",
        "slice: PROFILE, or shares: N, or gpu_memory_gib and compute_percent",
        None,
    ),
    (
        "spec.shape_form",
        platform(shapes=[shape()]),
        ("shapes", 0),
        "a shape needs either whole GPUs or a fraction, not both or neither",
        "{'name': 'job'}",
        "gpus_per_node: N, or per_pod: {…}",
        "add gpus_per_node: 1",
    ),
    (
        "spec.shape_form",
        platform(shapes=[shape(gpus_per_node=1, per_pod={"shares": 1})]),
        ("shapes", 0),
        "a shape needs either whole GPUs or a fraction, not both or neither",
        "{'name': 'job', 'gpus_per_node': 1, 'per_pod': {'shares': 1…",
        "gpus_per_node: N, or per_pod: {…}",
        "remove `per_pod`",
    ),
    (
        "spec.missing",
        platform([{"name": "train", "machine": "x"}]),
        (*P0, "nodes"),
        "`nodes` is missing",
        "",
        "",
        "add `nodes:`",
    ),
    (
        "spec.missing",
        platform(kubernetes=None),
        ("kubernetes",),
        "`kubernetes` is missing",
        "",
        "",
        "add `kubernetes:`",
    ),
    (
        "spec.missing",
        platform([pool(machine={"gpu": "L4", "gpus": 1, "cpu": 1})]),
        (*P0, "machine", "memory_gib"),
        "`memory_gib` is missing",
        "",
        "",
        "add `memory_gib:`",
    ),
    (
        "spec.unknown_field",
        platform(pool=[]),
        ("pool",),
        "unknown field",
        "'pool'",
        ", ".join(PlatformSpec.model_fields),
        "remove it: `pools` is already set",
    ),
    (
        "spec.unknown_field",
        platform([pool(xyz=1)]),
        (*P0, "xyz"),
        "unknown field",
        "'xyz'",
        ", ".join(Pool.model_fields),
        "remove it, or correct its name",
    ),
    (
        "spec.unknown_field",
        platform([pool(machine={"gpu": "L4", "gpus": 1, "cpu": 1, "memory_gib": 1, "gpuss": 1})]),
        (*P0, "machine", "gpuss"),
        "unknown field",
        "'gpuss'",
        "gpu, gpus, cpu, memory_gib",
        "remove it: `gpus` is already set",
    ),
    (
        "spec.unknown_field",
        platform(teams=[team(garantee={})]),
        ("teams", 0, "garantee"),
        "unknown field",
        "'garantee'",
        ", ".join(Team.model_fields),
        "write `guarantee`",
    ),
    (
        "spec.unknown_field",
        platform(shapes=[shape(per_pod={"slices": "x", "shares": 1})]),
        ("shapes", 0, "per_pod", "slices"),
        "unknown field",
        "'slices'",
        "slice, shares, gpu_memory_gib, compute_percent, latency, cpu, memory_gib",
        "write `slice`",
    ),
    (
        "spec.wrong_type",
        platform(kubernetes=1.35),
        ("kubernetes",),
        "wrong type",
        "1.35",
        "text",
        'write "1.35" in quotes',
    ),
    (
        "spec.wrong_type",
        platform(kubernetes=["1.35"]),
        ("kubernetes",),
        "wrong type",
        "['1.35']",
        "text",
        None,
    ),
    (
        "spec.wrong_type",
        platform([pool(machine=5)]),
        (*P0, "machine"),
        "wrong type",
        "5",
        "text",
        'write "5" in quotes',
    ),
    (
        "spec.wrong_type",
        platform([pool(machine=[5])]),
        (*P0, "machine", 0),
        "wrong type",
        "5",
        "text",
        'write "5" in quotes',
    ),
    (
        "spec.wrong_type",
        platform([pool(capacity=[{"reserved": 5, "nodes": 1}])]),
        (*P0, "capacity", 0),
        "wrong type",
        "5",
        "text",
        'write "5" in quotes',
    ),
    (
        "spec.wrong_type",
        platform(shapes=[shape(nodes="2", gpus_per_node=1)]),
        ("shapes", 0, "nodes"),
        "wrong type",
        "'2'",
        "a whole number",
        "write 2",
    ),
    (
        "spec.wrong_type",
        platform(shapes=[shape(nodes=True, gpus_per_node=1)]),
        ("shapes", 0, "nodes"),
        "wrong type",
        "true",
        "a whole number",
        None,
    ),
    (
        "spec.wrong_type",
        platform(budget={"max_usd_per_hour": "260"}),
        ("budget", "max_usd_per_hour"),
        "wrong type",
        "'260'",
        "a number",
        "write 260",
    ),
    (
        "spec.wrong_type",
        platform(teams=[team(weight=True)]),
        ("teams", 0, "weight"),
        "wrong type",
        "true",
        "a number",
        None,
    ),
    (
        "spec.wrong_type",
        platform(queueing={"fair_sharing": "yes"}),
        ("queueing", "fair_sharing"),
        "wrong type",
        "'yes'",
        "true or false",
        "write true",
    ),
    (
        "spec.wrong_type",
        platform(budget=5),
        ("budget",),
        "wrong type",
        "5",
        "a mapping (key: value)",
        None,
    ),
    ("spec.wrong_type", platform([5]), P0, "wrong type", "5", "a mapping (key: value)", None),
    (
        "spec.wrong_type",
        platform(teams=[team(guarantee=5)]),
        ("teams", 0, "guarantee"),
        "wrong type",
        "5",
        "a mapping (key: value)",
        None,
    ),
    (
        "spec.wrong_type",
        {**platform(), "teams": {}},
        ("teams",),
        "wrong type",
        "{}",
        "a list",
        None,
    ),
    (
        "spec.length",
        platform([]),
        ("pools",),
        "too short",
        "[]",
        "at least 1 entry",
        None,
    ),
    (
        "spec.out_of_bounds",
        platform([cut_pool(sharing={"mig": {"1g.5gb": 0}})]),
        (*P0, "sharing", "mig", "1g.5gb"),
        "out of bounds",
        "0",
        "at least 1",
        "write 1",
    ),
    (
        "spec.out_of_bounds",
        platform([cut_pool(sharing={"mig": [{"1g.5gb": 0}]})]),
        (*P0, "sharing", "mig", 0, "1g.5gb"),
        "out of bounds",
        "0",
        "at least 1",
        "write 1",
    ),
    (
        "spec.out_of_bounds",
        platform(teams=[team(guarantee={"train": 1_000_001})]),
        ("teams", 0, "guarantee", "train"),
        "out of bounds",
        "1000001",
        "at most 1,000,000",
        "write 1,000,000",
    ),
    (
        "spec.out_of_bounds",
        platform([pool(machine={"gpu": "L4", "gpus": 17, "cpu": 1, "memory_gib": 1})]),
        (*P0, "machine", "gpus"),
        "out of bounds",
        "17",
        "at most 16",
        "write 16",
    ),
    (
        "spec.out_of_bounds",
        platform(budget={"max_usd_per_hour": 0}),
        ("budget", "max_usd_per_hour"),
        "out of bounds",
        "0",
        "more than 0",
        None,
    ),
    (
        "spec.out_of_bounds",
        platform(budget={"max_usd_per_hour": float("inf")}),
        ("budget", "max_usd_per_hour"),
        "out of bounds",
        "inf",
        "a finite number",
        None,
    ),
    (
        "spec.characters",
        platform([pool(zones=["a\x1b[2J"])]),
        (*P0, "zones", 0),
        "control characters in text",
        "'a\\x1b[2J'",
        "printable characters",
        "remove them",
    ),
    (
        "spec.characters",
        platform(teams=[team(guarantee={"a\x07": 1})]),
        ("teams", 0, "guarantee", "a\x07"),
        "control characters in text",
        "'a\\x07'",
        "printable characters",
        "remove them",
    ),
    (
        "spec.length",
        platform([pool(zones=["z" * 254])]),
        (*P0, "zones", 0),
        "too long",
        "'" + "z" * 58 + "…",
        "at most 253 characters",
        None,
    ),
    (
        "spec.length",
        platform([pool(zones=[""])]),
        (*P0, "zones", 0),
        "too short",
        "''",
        "at least 1 character",
        None,
    ),
    (
        "spec.wrong_type",
        platform([pool(labels={"slices": 5})]),
        (*P0, "labels", "slices"),
        "wrong type",
        "5",
        "text",
        'write "5" in quotes',
    ),
]


@every(
    ("kind", "raw", "path", "problem", "given", "allowed", "fix"),
    TABLE,
    ids=[f"{row[0].removeprefix('spec.')}-{'.'.join(map(str, row[2]))}"[:60] for row in TABLE],
)
def test_a_bad_value_is_one_finding_that_says_all(kind, raw, path, problem, given, allowed, fix):
    reading = read_platform(raw)
    assert reading.spec is None
    (finding,) = reading.findings
    assert finding.severity is Severity.ERROR
    assert (finding.id, finding.path, finding.problem) == (kind, path, problem)
    assert (finding.given, finding.allowed) == (given, allowed)
    assert (finding.fix.message if finding.fix else None) == fix


@pytest.mark.parametrize("value", [None, 5, "text", [], [1]])
def test_what_is_no_mapping_is_no_platform(value):
    (finding,) = read_platform(value).findings
    assert (finding.id, finding.path) == ("spec.wrong_type", ())
    assert finding.where == "(platform)"


def test_an_error_carries_every_finding():
    with pytest.raises(SpecError) as caught:
        platform_spec(platform([pool(nodes="4..1", color=1)]))
    assert str(caught.value) == (
        "the platform is invalid:\n"
        "error spec.unknown_field pools[0].color: unknown field\n"
        "  given: 'color'\n"
        f"  allowed: {', '.join(Pool.model_fields)}\n"
        "  fix: remove it, or correct its name\n"
        "error spec.range_reversed pools[0].nodes: the range runs backwards\n"
        "  given: '4..1'\n"
        "  allowed: a number of nodes, or LOW..HIGH such as 0..16\n"
        "  fix: write 1..4"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ("x", "'x'"),
        ("\x1b[0m", "'\\x1b[0m'"),
        ("y" * 60, "'" + "y" * 58 + "…"),
        ("y" * 58, "'" + "y" * 58 + "'"),
        ([1], "[1]"),
    ],
)
def test_a_value_is_shown_short_and_harmless(value, text):
    assert format_input(value) == text
    assert len(text) <= 60


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("tran", ["train", "serve"], "train"),
        ("TRAIN", ["Train"], "Train"),
        ("xyz", ["train"], None),
        ("a", [], None),
    ],
)
def test_the_nearest_word_is_found_whatever_the_case(word, known, near):
    assert nearest_name(word, known) == near
