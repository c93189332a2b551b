"""Reading a stack file: all findings at once, each with its line, and the valid part."""

import pytest
import yaml

from gpuyard.plan import plan
from gpuyard.spec.read import read_platform, read_stack_file
from gpuyard_core.errors import UsageError
from kit.stacks import cut_pool, findings, parts, platform, pool, shape, stack_file, team


def ids(reading):
    return sorted((f.id, f.where) for f in reading.findings)


def beside(reading):
    """The findings on the valid part."""
    return sorted(
        (f.id, f.where) for f in reading.remaining_findings(plan(reading.checkable_spec)[1])
    )


def test_a_good_file_is_a_spec_without_findings():
    reading = read_stack_file(stack_file(platform()), "file")
    assert reading.spec is not None
    assert reading.findings == ()
    assert reading.checkable_spec is reading.spec


START = "write one with `gpuyard init`; `pulumi preview` checks a platform that a program defines"
EMPTY = "it is empty: write the platform below it, indented"
ONE_KEY = "write `gpuyard:platform:` as one key, not two"
ABOVE = "put it below `config:` and `gpuyard:platform:`, indented"


@pytest.mark.parametrize(
    ("text", "given", "fix"),
    [
        ("", "an empty file", START),
        ("just text", "'just text'", START),
        ("[1, 2]", "[1, 2]", START),
        ("a: 1\nconfig: {b: 2}", "['a', 'config']", START),
        ("config: []", "['config']", START),
        ("config:\n  gpuyard:platform:\n", "['config']", EMPTY),
        ("config: {gpuyard: {platform: {}}}", "['config']", ONE_KEY),
        (
            "gpuyard:platform: {name: a}",
            "['gpuyard:platform']",
            "put it below `config:`, indented",
        ),
        ("{cloud: none, name: a}", "['cloud', 'name']", ABOVE),
        ("{pools: []}", "['pools']", ABOVE),
        (
            "config: {1: {}, gpuyard:platforms: 3, gpuyard:plattform: {name: lab}}",
            "['config']",
            "rename `gpuyard:plattform:` to `gpuyard:platform:`",
        ),
    ],
)
def test_a_file_without_a_platform_is_told_what_is_missing(text, given, fix):
    (finding,) = read_stack_file(text.encode(), "file").findings
    assert parts(finding) == (
        "spec.no_platform",
        (),
        "the file has no `config: gpuyard:platform:`",
        given,
        "a Pulumi stack file with the platform under `config: gpuyard:platform:`",
    )
    assert finding.fix.message == fix


def test_a_file_that_is_not_yaml_is_a_usage_error():
    with pytest.raises(UsageError, match=r"^file: not YAML: line 1"):
        read_stack_file(b"a: b: c", "file")


FILE = b"""\
other: {other: 1, other: 2}
config:
  gpuyard:platform:
    name: lab
    cloud: none
    kubernetes: "1.36"
    name: lab2
    pools:
      - {name: train, machine: p5.48xlarge, nodes: 4..1}
"""


def test_every_finding_has_its_line():
    reading = read_stack_file(FILE, "file")
    assert {(f.id, f.where, reading.line_of(f.path)) for f in reading.findings} == {
        ("spec.duplicate_key", "other.other", 3),
        ("spec.duplicate_key", "name", 4),
        ("spec.range_reversed", "pools[0].nodes", 9),
    }


def test_a_key_that_stands_twice_names_both_lines():
    (finding, *_) = [f for f in read_stack_file(FILE, "file").findings if f.where == "name"]
    assert parts(finding) == (
        "spec.duplicate_key",
        ("name",),
        "duplicate key in one mapping, again in line 7",
        "'name'",
        "each key once",
    )


def test_a_key_that_stands_twice_refuses_a_spec_that_is_otherwise_good():
    data = stack_file(platform()) + b"    name: again\n"
    reading = read_stack_file(data, "file")
    assert reading.spec is None
    assert reading.checkable_spec is not None
    assert ids(reading) == [("spec.duplicate_key", "name")]


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        (
            platform(budget={"max_usd_per_hour": {"secure": "AAABBBCCC"}}),
            "budget.max_usd_per_hour",
        ),
        (platform(budget={"secure": "AAABBBCCC"}), "budget"),
        (platform([pool(zones=[{"secure": "AAABBBCCC"}])]), "pools[0].zones[0]"),
        ({"secure": "AAABBBCCC"}, "(platform)"),
    ],
)
def test_a_secret_is_one_finding_and_is_never_shown(raw, where):
    reading = read_stack_file(stack_file(raw), "file")
    (finding,) = reading.findings
    assert (finding.id, finding.where, finding.given) == ("spec.secret", where, "secure: …")
    assert "AAABBB" not in str(finding)
    assert reading.spec is None


def test_a_secret_in_a_place_that_takes_text_is_refused_too():
    reading = read_stack_file(stack_file(platform([pool(labels={"secure": "AAA"})])), "file")
    assert ids(reading) == [("spec.secret", "pools[0].labels")]
    assert reading.spec is None


def test_proofs_of_the_sound_part_speak_of_places_in_the_file():
    raw = platform(
        [
            pool("bad", nodes="4..1"),
            cut_pool(sharing={"mig": {"3g.20gb": 3}}),
            pool("train", nodes=1),
        ],
        [team("lost", weight=0), team("kept", guarantee={"train": 9})],
    )
    reading = read_platform(raw)
    assert beside(reading) == [
        ("mig.placement", "pools[1].sharing.mig"),
        ("quota.over_capacity", "teams[1].guarantee.train"),
    ]
    found = {f.id: f.fix.at for f in reading.remaining_findings(plan(reading.checkable_spec)[1])}
    assert found["mig.placement"] == ("pools", 1, "sharing", "mig")
    assert found["quota.over_capacity"] == ("teams", 1, "guarantee", "train")


def test_a_shape_for_any_pool_is_judged_when_no_pool_is_malformed():
    raw = platform(shapes=[shape("y", gpus_per_node=99)], teams=[team(weight=0)])
    assert beside(read_platform(raw)) == [("shape.cannot_start", "shapes[0]")]


def test_a_proof_of_the_sound_part_may_have_no_fix_with_a_place():
    teams = [
        team("lost", weight=0),
        *(team(n, isolation="node", guarantee={"train": 1}) for n in "ab"),
    ]
    assert beside(read_platform(platform(teams=teams))) == [
        ("tenancy.isolation", "teams[1].isolation"),
        ("tenancy.isolation", "teams[2].isolation"),
    ]


def test_a_spec_has_no_line_without_a_file():
    assert read_platform(platform()).line_of(("name",)) is None


def test_the_local_stack_is_well_formed():
    from sizes import ROOT

    data = (ROOT / "stacks" / "Pulumi.local.yaml").read_bytes()
    reading = read_stack_file(data, "file")
    assert reading.findings == ()
    assert findings(yaml.safe_load(data)["config"]["gpuyard:platform"]) is not None
