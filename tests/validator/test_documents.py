"""Documents in: expectations and snapshots, whole, mutilated, of other versions: a verdict, no traceback."""

import json
import os
import random
from collections import Counter
from dataclasses import dataclass

import jsonschema
import pytest

import sizes
from gpuyard_validator import report as reports
from gpuyard_validator.expectations import read_expectations, schema
from gpuyard_validator.results import Code, Status
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import CannotRead, Snapshot, read_snapshot, snapshot_json
from gpuyard_validator.values import Answer, Malformed, Missing, MissingReason, decode, encode
from kit.cases.hardware import CARDS, CUTS, expected, machine
from kit.every import every
from kit.searches import numbers

FOLDER = sizes.ROOT / "tests" / "validator"
REPORTED = 8
"""Of so many snapshots one has its report written in every form."""
MUTATIONS = numbers(os.environ.get("GPUYARD_SNAPSHOTS", "2000"))


@every("name", CARDS)
def test_a_snapshot_read_back_is_the_same(name):
    for cut in (False, name in CUTS):
        whole = machine(name, cut=cut)
        assert read_snapshot(snapshot_json(whole)) == whole


@every("name", CARDS)
def test_expectations_read_back_are_the_same_and_fit_their_schema(name):
    told = expected(name, cut=name in CUTS)
    jsonschema.validate(encode(told), schema())
    assert read_expectations(json.dumps(encode(told))) == told


def test_the_schema_is_the_golden_one(golden):
    golden(FOLDER / "expectations.schema.json", json.dumps(schema(), indent=2) + "\n")


def told(**more):
    return {**encode(expected("H100", cut=True)), **more}


def with_(**more):
    return {"nodes": 2, "between": "efa", **more}


def lowered(**more):
    good = {
        "check": "nccl.all_reduce",
        "value": 300.0,
        "reason": "NVLS is off",
        "until": "2027-01-31",
    }
    return [good | more]


def test_a_lowered_floor_is_part_of_expectations():
    found = read_expectations(json.dumps(told(accepted=lowered())))
    assert [each.value for each in found.accepted] == [300.0]


@every(
    "raw, said",
    [
        ([], "document: must be an object"),
        (
            told(schema="gpuyard.dev/expectations/v2"),
            "schema: must be gpuyard.dev/expectations/v3",
        ),
        (told(profile="slow"), "profile: must be one of quick, full, soak, not 'slow'"),
        (told(profile="soak"), "collectives: required, because profile soak runs collectives"),
        (told(collectives=with_(nodes=0)), "collectives.nodes: must be at least 1, not 0"),
        (
            told(collectives=with_(between="rdma")),
            "collectives.between: must be one of nvlink, efa, infiniband, ",
        ),
        (told(accepted=lowered(value=0)), "accepted[0].value: must be more than 0, not 0"),
        (told(accepted=lowered(reason=" ")), "accepted[0].reason: must not be empty"),
        (
            told(accepted=lowered(until="soon")),
            "accepted[0].until: must be a date such as 2027-01-31, not 'soon'",
        ),
        (told(gpus="8"), "gpus: must be of type integer, not '8'"),
        (told(gpus=True), "gpus: must be of type integer, not True"),
        (told(gpu=8), "gpu: unknown field; valid fields: schema, platform"),
        (told(layouts={}), "layouts: must be a list"),
        (told(layouts=[{"gpus": [0], "counts": []}]), "layouts[0].counts: must be an object"),
        (told(layouts=[{"gpus": [0]}]), "layouts[0].counts: missing"),
        (
            told(layouts=[{"gpus": ["x" * 99], "counts": {}}]),
            "layouts[0].gpus[0]: must be of type integer",
        ),
        (told(network=7), "network: must be an object"),
    ],
)
def test_expectations_that_cannot_be_used_say_where(raw, said):
    with pytest.raises(Malformed) as caught:
        read_expectations(json.dumps(raw))
    assert said in str(caught.value)


@every("text", ["", "{", "[" * 100_000, "\ud800"])
def test_what_is_no_document_is_refused(text):
    with pytest.raises(Malformed):
        read_expectations(text)
    with pytest.raises(CannotRead):
        read_snapshot(text)


@every("text", ["[]", "{}", '{"node": "a", "source": "b", "gpus": [{"index": 0, "colour": 1}]}'])
def test_what_is_no_snapshot_is_refused(text):
    with pytest.raises(CannotRead, match="not a snapshot"):
        read_snapshot(text)


@dataclass(frozen=True)
class Some:
    share: float
    maybe: Answer[float]


def test_values_of_an_answer():
    assert decode(Some, {"share": 1, "maybe": 2.5}) == Some(1.0, 2.5)
    silent = decode(Some, {"share": 1, "maybe": {"missing": "lost", "detail": "XID 79"}})
    assert silent.maybe == Missing(MissingReason.LOST, "XID 79")
    assert encode(silent)["maybe"] == {"missing": "lost", "detail": "XID 79"}
    for raw in ("x", {"missing": "odd"}, {"missing": []}, float("nan"), None):
        found = decode(Some, {"share": 1, "maybe": raw}).maybe
        assert (found.reason, str(found).startswith("malformed: maybe: ")) == (
            MissingReason.MALFORMED,
            True,
        )
    assert str(Missing(MissingReason.LOST)) == "lost"


STRANGE = (
    None, True, False, -1, 0, 1, 3, 10**30, 0.5, 1e308, "", "x", "é\x00\x07]]>", [], {}, [[]], [None],
    {"missing": "lost"}, {"missing": "not_supported"}, {"missing": 3},
)  # fmt: skip


def places(value, path=()):
    """Every place in a document."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in inner:
        yield from places(each, (*path, key))


def mutated(raw, chance, times):
    for _ in range(times):
        *way, last = chance.choice([p for p in places(raw) if p])
        inside = raw
        for key in way:
            inside = inside[key]
        act = chance.randrange(4)
        if act == 0:
            inside[last] = chance.choice(STRANGE)
        elif act == 1:
            del inside[last]
        elif act == 2 and isinstance(inside, list):
            inside.append(inside[last])
        else:
            inside[last] = {"missing": chance.choice(list(MissingReason)).value}
    return raw


@pytest.mark.search
def test_mutilated_snapshots_have_a_verdict_and_no_traceback():
    """Whatever a machine says: a verdict, never a broken check, never passed by what is missing."""
    seen = Counter()
    documents = {name: snapshot_json(machine(name)) for name in ("T4", "L40S", "GB200")}
    for number in MUTATIONS:
        chance = random.Random(number)  # noqa: S311  a search that can be had again
        name = chance.choices(list(documents), (8, 7, 1))[0]
        raw = mutated(json.loads(documents[name]), chance, chance.randint(1, 4))
        try:
            found = read_snapshot(json.dumps(raw))
        except CannotRead:
            seen["refused"] += 1
            continue
        report = validate(expected(name), found)
        broken = [r for r in report.results if r.evidence.status is Status.ERROR]
        assert not broken, (number, broken)
        assert report.code in (Code.PASSED, Code.FAILED), number
        left_out = [r for r in report.results if r.required and r.evidence.status is Status.SKIP]
        assert not left_out or report.code is Code.FAILED, number
        seen[report.verdict] += 1
        if number % REPORTED:
            continue
        said = reports.report_summary(report)
        assert said.startswith(report.verdict), number
        assert len(said.encode()) <= reports.DIGEST_BYTES, number
        json.loads(reports.as_json(report))
        reports.as_junit(report).encode()
        reports.as_prometheus(report, 0.0).encode()
    if len(MUTATIONS) >= 1000:
        assert min(seen[each] for each in ("refused", "passed", "failed")) > len(MUTATIONS) // 50, (
            seen
        )


def test_a_snapshot_is_a_snapshot():
    assert isinstance(decode(Snapshot, {"node": "a", "source": "b", "gpus": []}), Snapshot)
