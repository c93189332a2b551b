"""Small slips in made-up stack files: a fix that a program can apply takes its finding away and adds none."""

import copy
import random

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.cli.stacks import validate_text
from gpuyard_core.findings import Severity
from kit.generated import platforms
from kit.searches import examples
from kit.stacks import stack_file
from proofs import TODAY, applied, how_fixed

NUMBERS = st.integers(0, 10**9)


def places(value, path=()):
    """Every place of a tree, the root left out."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def misspelt(word, rng):
    at = rng.randrange(len(word))
    return word[:at] + rng.choice(["", word[at] * 2, "x"]) + word[at + 1 :]


def slipped(value, rng):
    """What a tired hand makes of a value."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return rng.choice([str(value), -value, value * 10**7, float(value)])
        case str() if ".." in value:
            low, _, high = value.partition("..")
            return rng.choice([f"{high}..{low}", f"{low}-{high}", f"{low} to {high} nodes"])
        case str():
            return rng.choice([misspelt(value, rng), value.upper(), f"{value}\x07", [value]])
        case list():
            return rng.choice([value * 2, value[:1], value[0] if value else None])
        case _:
            return value


def with_slip(raw, rng):
    """The platform with a key misspelt, a key too many, or a value slipped."""
    root = copy.deepcopy(raw)
    *way, last = rng.choice(list(places(root)))
    parent = root
    for step in way:
        parent = parent[step]
    what = rng.choice(["key", "value", "value", "more"])
    if what == "value" or not isinstance(parent, dict):
        parent[last] = slipped(parent[last], rng)
    elif what == "more":
        parent[misspelt(last, rng) or "x"] = parent[last]
    else:
        parent[misspelt(last, rng) or "x"] = parent.pop(last)
    return root


def slip_of(number):
    rng = random.Random(number)  # noqa: S311  no secret is made of it
    return with_slip(platforms.platform(number), rng)


def judged(raw):
    """What check says about it, as it would stand in a file; notes are no matter of fixes."""
    found = validate_text(stack_file(raw), "stack.yaml", TODAY).findings
    return [f for f in found if f.severity is not Severity.INFO]


def as_written(raw):
    return yaml.safe_load(stack_file(raw))["config"]["gpuyard:platform"]


def is_malformed(finding):
    return finding.id.startswith("spec.")


@settings(max_examples=examples(60))
@given(NUMBERS)
def test_a_fix_of_a_slip_takes_it_away_and_adds_no_other(number):
    raw = as_written(slip_of(number))
    before = judged(raw)
    known = {(f.id, f.path) for f in before}
    for finding in filter(is_malformed, before):
        if how_fixed(finding) != "applied":
            continue
        after = judged(applied(raw, finding.fix))
        assert (finding.id, finding.path) not in {(f.id, f.path) for f in after}, str(finding)
        # Below a field that got its name at last, or an item of a list that did, more may come to light; so
        # may what is wrong with a whole that nobody looked at while a part of it was malformed.
        new = [f for f in after if is_malformed(f) and (f.id, f.path) not in known]
        new = [f for f in new if finding.path[: len(f.path)] != f.path]
        below = finding.fix.at[: len(finding.fix.at) if finding.fix.value is not None else -1]
        assert [f for f in new if f.path[: len(below)] != below] == [], str(finding)


@settings(max_examples=examples(60))
@given(NUMBERS)
def test_every_fix_that_can_be_applied_leads_to_fewer_slips_until_none_has_one(number):
    raw = as_written(slip_of(number))
    for _ in range(12):
        slips = [f for f in judged(raw) if is_malformed(f) and how_fixed(f) == "applied"]
        if not slips:
            return
        raw = applied(raw, slips[0].fix)
    raise AssertionError([str(f) for f in slips])


def test_slips_make_most_kinds_of_findings_and_most_have_a_fix():
    found = [f for number in range(160) for f in judged(as_written(slip_of(number)))]
    slips = [f for f in found if is_malformed(f)]
    assert len({f.id for f in slips}) > 8
    assert sum(how_fixed(f) == "applied" for f in slips) > len(slips) / 2
