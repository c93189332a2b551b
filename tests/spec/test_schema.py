"""The JSON Schema says of a stack file what the models say, as far as a schema can."""

import json

import pytest
import yaml
from jsonschema import Draft202012Validator

from gpuyard.spec.read import read_platform
from gpuyard.spec.schema import MODELINE, SCHEMA_FILE, stack_schema
from kit.every import every
from kit.stacks import cut_pool, platform, pool, shape, team
from sizes import ROOT

SCHEMA = stack_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
STACKS = sorted([*ROOT.glob("stacks/Pulumi.*.yaml"), *ROOT.glob("tests/golden_stacks/*.yaml")])


def accepts(raw):
    return VALIDATOR.is_valid({"config": {"gpuyard:platform": raw}})


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_file_is_up_to_date(golden):
    # `make schema` writes it anew
    golden(ROOT / SCHEMA_FILE, json.dumps(SCHEMA, indent=2) + "\n")


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
        budget={"worst_usd_per_hour": 0.5},
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
    platform(storage={"datasets": {}}),
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
    platform(budget={"worst_usd_per_hour": 0}),
    platform(budget={"worst_usd_per_hour": "260"}),
    platform(queueing={"engine": "volcano"}),
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
