"""The JSON Schema accepts what the models accept, as far as a schema can."""

import copy
import json
import random

import pytest
import yaml
from jsonschema import Draft202012Validator

from gpuyard.spec.read import read_platform
from gpuyard.spec.schema import MODELINE, SCHEMA_FILE, stack_schema
from gpuyard_core.catalogue.machines import find_machine
from kit.every import every
from kit.searches import examples
from kit.stacks import cut_pool, platform, pool, shape, team
from sizes import ROOT

SCHEMA = stack_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
STACKS = sorted([*ROOT.glob("stacks/Pulumi.*.yaml"), *ROOT.glob("tests/golden_stacks/*.yaml")])


def accepts(raw):
    return VALIDATOR.is_valid({"config": {"gpuyard:platform": raw}})


@pytest.mark.repeats("none: it runs no line that is measured")
def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_file_is_up_to_date(golden):
    # `make golden` writes it
    golden(ROOT / SCHEMA_FILE, json.dumps(SCHEMA, indent=2) + "\n")


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize("path", STACKS, ids=lambda p: p.stem)
def test_every_stack_is_accepted(path):
    VALIDATOR.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", sorted(ROOT.glob("stacks/Pulumi.*.yaml")), ids=lambda p: p.stem)
def test_an_editor_finds_the_schema_of_a_stack(path):
    assert path.read_text(encoding="utf-8").startswith(MODELINE + "\n")
    assert (path.parent / MODELINE.partition("$schema=")[2]).name == SCHEMA_FILE.partition("/")[2]


def test_every_field_is_described_but_those_a_shorthand_replaces():
    for name, model in SCHEMA["$defs"].items():
        assert model.get("description"), name
        for field, schema in model.get("properties", {}).items():
            assert schema.get("description") or "$ref" in schema, f"{name}.{field}"


def test_an_editor_offers_the_gpu_machines_of_the_catalogue_and_accepts_others():
    names = SCHEMA["$defs"]["Pool"]["properties"]["machine"]["oneOf"][0]["examples"]
    assert {find_machine(name).cloud for name in names} == {"aws", "gcp"}
    assert all(find_machine(name).gpu for name in names)
    assert accepts(platform([pool(machine="of-our-own")]))


GOOD = [
    platform([pool(nodes="0..16")]),
    platform([pool(machine=["a", "b"])]),
    platform([pool(machine={"gpu": "L4", "gpus": 1, "cpu": 4, "memory_gib": "80GB"})]),
    platform([pool(sharing="none"), cut_pool(), pool("x", sharing={"mps": 8})]),
    platform(
        [
            cut_pool(
                sharing={"mig": [{"gpus": "0-3", "7g.40gb": 1}, {"gpus": [4, 5], "1g.5gb+me": 1}]}
            )
        ]
    ),
    platform(
        [cut_pool(sharing={"mig": [{"gpus": "0,2", "1g.24gb+me.all": 1}], "time_slicing": 2})]
    ),
    platform(
        [
            pool(
                capacity=[
                    {"reserved": "cr", "nodes": 1},
                    {"spot": None, "nodes": 2},
                    "flex-start",
                    "on-demand",
                ]
            )
        ]
    ),
    platform(
        teams=[team(guarantee={"train": 1}, lend={"train": 0}, weight=1.5, budget_usd_per_month=1)]
    ),
    platform(shapes=[shape(nodes=2, gpus_per_node=8), shape("b", per_pod={"slice": "1g.5gb"})]),
    platform(
        queueing={"preemption": "never"},
        validation={"profile": "full"},
        budget={"max_usd_per_hour": 0.5},
    ),
    platform(cloud="aws"),
    platform([pool(sharing="dra"), pool("b", sharing={"dra": True})]),
    platform(prices={"machines": {"p5.48xlarge": 42.5, "g6.xlarge": {"spot": 0.3}}}),
    platform(targets={"utilisation_percent": "65..85"}, admission={"egress_cidrs": ["10.0.0.0/8"]}),
]


@pytest.mark.parametrize("raw", GOOD, ids=range(len(GOOD)))
def test_what_the_models_accept_is_accepted(raw):
    assert read_platform(raw).findings == ()
    assert accepts(raw)


BAD = [
    {},
    [],
    platform(name="My Lab"),
    platform(name="x" * 41),
    platform(cloud="azure"),
    platform(kubernetes=1.35),
    platform([]),
    platform([pool(color=1)]),
    platform([pool(nodes="a..b")]),
    platform([pool(nodes=-1)]),
    platform([pool(nodes=None)]),
    platform([pool(machine=[])]),
    platform([pool(machine={"gpu": "L4"})]),
    platform([pool(machine={"gpu": "L4", "gpus": 17, "cpu": 4, "memory_gib": 80})]),
    platform([pool(machine={"gpu": "L4", "gpus": 1, "cpu": 4, "memory_gib": "80MB"})]),
    platform([pool(sharing="all")]),
    platform([pool(owners="a")]),
    platform([pool(fabric={"kind": "token-ring"})]),
    platform(prices={"machines": {"p5.48xlarge": 0}}),
    platform(storage={"datasets": [{"kind": "efs"}]}),
    platform([pool(sharing={"migs": {}})]),
    platform([cut_pool(sharing={"mig": {"1g.5gb": 0}})]),
    platform([cut_pool(sharing={"mig": {"1g.5gb": "2"}})]),
    platform([cut_pool(sharing={"mig": [{"gpus": "x", "1g.5gb": 1}]})]),
    platform([cut_pool(sharing={"mig": [{"gpus": [-1], "1g.5gb": 1}]})]),
    platform([pool(sharing={"time_slicing": -1})]),
    platform([pool(capacity=[])]),
    platform([pool(capacity=["reserved"])]),
    platform([pool(capacity=["spott"])]),
    platform([pool(capacity=[{"reserved": "cr"}])]),
    platform([pool(capacity=[{"spot": "cr"}])]),
    platform([pool(capacity=[{"nodes": 1}])]),
    platform([pool(zones="us-east-1a")]),
    platform(teams=[team(guarantee={"train": -1})]),
    platform(teams=[team(guarantee={"train": 1.5})]),
    platform(teams=[team(weight=0)]),
    platform(teams=[team(weight="1")]),
    platform(teams=[team(isolation="room")]),
    platform(teams=[team(priority=1)]),
    platform(shapes=[shape(nodes=0, gpus_per_node=1)]),
    platform(budget={}),
    platform(budget={"max_usd_per_hour": 0}),
    platform(budget={"max_usd_per_hour": "260"}),
    platform(queueing={"engine": "slurm"}),
    platform(queueing={"fair_sharing": "yes"}),
]


@every("raw", BAD, ids=range(len(BAD)))
def test_what_the_models_refuse_is_refused(raw):
    assert read_platform(raw).spec is None
    assert not accepts(raw)


@pytest.mark.parametrize("document", [{}, {"config": {}}, {"config": []}, [], None])
def test_a_file_without_a_platform_is_refused(document):
    assert not VALIDATOR.is_valid(document)


def test_other_keys_are_pulumis_business():
    document = {
        "config": {"gpuyard:platform": platform(), "aws:region": "us-east-1"},
        "encryptionsalt": "v1",
    }
    assert VALIDATOR.is_valid(document)


WHOLE = platform(
    [
        pool(machine=["p5.48xlarge"], nodes="0..4", zones=["a"], labels={"a": "b"}, scaling="karpenter",
             capacity=[{"reserved": "cr-1", "nodes": 1}, {"mode": "spot"}, {"spot": True}, "on-demand"],
             keep_warm=[{"cron": "0 7 * * *", "hours": 2, "nodes": 1}], disk_gib=100, previous_names=["old"],
             owners=["vision"], numa="none", topology=True, provisioning="atomic", stop_policy="hold", image="x",
             fabric={"kind": "roce", "hcas": ["m"], "gbps": 100}),
        pool("b", machine={"gpu": "L4", "gpus": 1, "cpu": 4, "memory_gib": "80GB"}, select={"a": "b"},
             sharing={"mig": [{"gpus": "0-3", "1g.5gb": 1}, {"gpus": [4], "slices": {"1g.5gb": 2}},
                              {"slices": {}}], "time_slicing": 2}),
        pool("c", sharing={"mps": 4}),
        pool("d", sharing="none"),
    ],
    [
        team(guarantee={"train": 8}, borrow={"train": 1}, lend={"train": 1}, isolation="slice",
             groups=["g"], budget_usd_per_month=5.5, weight=2, priority="p", egress_cidrs=["10.0.0.0/8"],
             allowed_images=["r.io/x"], previous_names=["z"]),
    ],
    shapes=[shape("s", pool="train", nodes=2, gpus_per_node=8),
            shape("t", per_pod={"slice": "1g.5gb", "cpu": 2, "memory_gib": 8}),
            shape("u", per_pod={"gpu_memory_gib": 5, "compute_percent": 20, "latency": "strict"})],
    queueing={"preemption": "reclaim", "fair_sharing": True,
              "cohorts": [{"name": "l", "borrow": {"train": 1}, "lend": {"train": 1}}]},
    validation={"profile": "quick", "required": True},
    budget={"max_usd_per_hour": 5},
    cluster={"existing": "x", "protect": True},
    software={"kueue": "1"},
    priorities={"p": 10},
    prices={"discount_percent": 5, "machines": {"m": 1.5, "n": {"spot": 1}},
            "commitments": [{"machine": "m", "nodes": 1, "years": 1, "usd_per_hour": 2}]},
    targets={"utilisation_percent": "65..85", "idle_percent": 5, "wait_p95_minutes": {"p": 5}},
    storage={"datasets": [{"name": "d", "kind": "filestore", "size_gib": 100, "tier": "zonal", "zone": "z",
                           "throughput": 5, "bucket": "b", "cache_gib": 5, "class_name": "x",
                           "teams": ["vision"], "writers": ["vision"]}],
             "checkpoints": {"bucket": "b", "retention_days": 3, "teams": ["vision"]}, "protect": False},
    observability={"prometheus": "none", "prometheus_address": "http://x:9090", "retention_days": 5,
                   "scrape_seconds": 5},
    workloads={"training": ["torch", {"framework": "jax", "pools": ["train"], "image": "r.io/x:1"}], "services": [
        {"name": "a", "team": "vision", "shape": "s", "replicas": "1..2", "image": "r.io/x:1", "scale_on": ["gpu"],
         "targets": {"gpu": 70.0}, "queue": {"sqs": "https://sqs.us-east-1.amazonaws.com/123456789012/q"},
         "schedule": [{"start": "0 8 * * *", "end": "0 9 * * *", "replicas": 1}], "callers": ["gateway"],
         "kind": "deployment", "args": ["-x"], "env": {"A": "b"}, "port": 8000, "health_path": "/h",
         "model": {"cache_gib": 5, "path": "/m"}, "prefill": {"shape": "s", "replicas": 1}}]},
    addons=["tekton"],
    admission={"allowed_images": ["r.io/x"], "egress_cidrs": ["10.0.0.0/8"], "enforce": "warn"},
    tags={"a": "b"},
    mirror={"images": "r.io/x", "charts": "x", "prepull": ["r.io/train:1"]},
    policies={"levels": {"a": "off"},
              "exceptions": [{"rule": "a", "resource": "b", "reason": "c", "expires": "2027-03-31"}]},
    apply="render",
    approved_changes="sha256:0",
)  # fmt: skip
VALUES = [
    None,
    5,
    -1,
    0,
    1.5,
    "x",
    "",
    "1",
    True,
    [],
    {},
    ["a"],
    [1],
    {"a": 1},
    {"a": "b"},
    "3..1",
    "0..2",
    10**9,
]
DROPPED = object()
ACROSS_FIELDS = {
    "spec.gpu_indexes", "spec.per_pod_form", "spec.percent_range", "spec.range_reversed", "spec.range_size",
    "spec.rung_reservation", "spec.model_form", "spec.queue_form", "spec.shape_form", "spec.sharing_methods",
    "spec.sharing_replicas",
}  # fmt: skip
"""Rules that only the reader checks: over two fields, or over the two numbers of one text."""


def places(value, at=()):
    if at:
        yield at
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for step, each in inner:
        yield from places(each, (*at, step))


def changed(value, at, new):
    raw = copy.deepcopy(value)
    parent = raw
    for step in at[:-1]:
        parent = parent[step]
    if new is DROPPED:
        del parent[at[-1]]
    else:
        parent[at[-1]] = new
    return raw


def is_profile_name(at, new):
    """The reader accepts any profile name and the plan checks it; editors report it early."""
    return "mig" in at and new == {"a": 1}


@pytest.mark.search
def test_schema_and_reader_agree_on_every_value_at_every_place():
    """In both directions: schema and models agree, except on rules that a schema cannot express."""
    assert accepts(WHOLE)
    assert read_platform(WHOLE).findings == ()
    every = [(at, new) for at in places(WHOLE) for new in (*VALUES, DROPPED)]
    assert len(every) > 3000
    rng = random.Random(5)  # noqa: S311  no secret is made of it
    stricter, looser = [], []
    for at, new in rng.sample(every, min(len(every), examples(300))):
        raw = changed(WHOLE, at, new)
        ids = {f.id for f in read_platform(raw).findings}
        if ids and accepts(raw) and not ids <= ACROSS_FIELDS:
            looser.append((at, new, ids))
        if not ids and not accepts(raw) and not is_profile_name(at, new):
            stricter.append((at, new))
    assert (stricter, looser) == ([], [])


@pytest.mark.parametrize(
    "group",
    [{"slices": {}}, {"gpus": [0, 1], "slices": {}}, {"gpus": "6-7", "slices": {"1g.10gb": 3}}],
)
def test_a_group_may_name_its_slices(group):
    raw = platform([cut_pool(sharing={"mig": [group]})])
    assert read_platform(raw).findings == ()
    assert accepts(raw)
