"""What a cloud's program says becomes an answer, or a reason why nothing is known."""

import json

import proofs
import sizes
from gpuyard.preflight.probes import (
    NOT_FOUND,
    CommandResult,
    ProbeAnswer,
    ProbeResult,
    SkippedProbe,
    items,
    parse_answer,
)
from kit.every import every

SHAPES = json.loads(
    (sizes.ROOT / "tests" / "preflight" / "shapes.json").read_text(encoding="utf-8")
)["answers"]


def of_aws(code, operation="ListServiceQuotas", says="no"):
    return CommandResult(
        254, "", f"\nAn error occurred ({code}) when calling the {operation} operation: {says}\n"
    )


@every(
    "ended, why",
    [
        (CommandResult(failed="aws is not installed here"), "aws is not installed here"),
        (CommandResult(0, "<html>"), "the output of the command is not JSON"),
        (CommandResult(0, "[" * 100_000), "the output of the command is not JSON"),
        (CommandResult(1), "no error message"),
        (CommandResult(1, "", "first\n  last words.\n\n"), "last words"),
        (
            of_aws("ExpiredToken"),
            "the credentials have expired (An error occurred (ExpiredToken) when",
        ),
        (of_aws("AccessDeniedException"), "permission denied (An error"),
        (of_aws("UnauthorizedOperation"), "permission denied (An error"),
        (of_aws("ThrottlingException"), "the cloud throttles requests; try again (An error"),
        (of_aws("InvalidClientTokenId", "GetCallerIdentity"), "no credentials found (An error"),
        (
            CommandResult(
                253, "", "Unable to locate credentials. You can configure credentials by"
            ),
            "no credentials found (Unable to locate credentials",
        ),
        (
            CommandResult(
                255, "", "Error loading SSO Token: Token for lab has expired and refresh failed"
            ),
            "the credentials have expired (Error loading SSO Token",
        ),
        (
            CommandResult(
                255, "", 'Could not connect to the endpoint URL: "https://sts.amazonaws.com/"'
            ),
            "the cloud is unreachable (Could not connect",
        ),
        (
            CommandResult(
                1, "", "ERROR: (gcloud.x) There was a problem refreshing your current auth tokens"
            ),
            "the credentials have expired (There was a problem",
        ),
        (
            CommandResult(
                1, "", "ERROR: (gcloud.x) You do not currently have an active account selected."
            ),
            "no credentials found (You do not",
        ),
        (
            CommandResult(
                1,
                "",
                "ERROR: (gcloud.x) You do not currently have an active account selected.\n"
                "Please run:\n\n  $ gcloud auth login\n\nto obtain new credentials.\n",
            ),
            "no credentials found (You do not currently have an active account selected)",
        ),
        (
            CommandResult(
                1, "", "- Required 'compute.regions.get' permission for 'projects/lab/regions/x'"
            ),
            "permission denied (- Required",
        ),
        (
            CommandResult(
                1, "", "Compute Engine API has not been used in project 1 before or it is disabled"
            ),
            "the API is disabled (Compute Engine",
        ),
    ],
)
def test_what_is_no_answer_says_why(ended, why):
    answer = parse_answer(ended)
    assert (answer.value, answer.error) == (None, "")
    assert answer.failure_reason.startswith(why), answer


def test_an_error_that_tells_something_is_an_answer():
    assert parse_answer(of_aws("ParameterNotFound", "GetParameter")) == ProbeAnswer(
        error="ParameterNotFound"
    )
    said = "The capacity reservation has expired"
    assert (
        parse_answer(of_aws("InvalidCapacityReservationId.NotFound", says=said)).failure_reason
        == ""
    )
    none = "ERROR: (gcloud.storage.buckets.describe) gs://x not found: 404."
    assert parse_answer(CommandResult(1, "", none)) == ProbeAnswer(error=NOT_FOUND)


def test_a_value_is_an_answer():
    assert parse_answer(CommandResult(0, '{"Quotas": []}')) == ProbeAnswer(value={"Quotas": []})


@every(
    "value, path, found",
    [
        ([{}], (), [{}]),
        ({"a": {"b": [{"c": 1}]}}, ("a", "b"), [{"c": 1}]),
        ({"a": []}, ("a",), []),
        ({"a": ["x"]}, ("a",), None),
        ({"a": 1}, ("a", "b"), None),
        (None, ("a",), None),
    ],
)
def test_a_list_is_found_where_it_stands_and_nowhere_else(value, path, found):
    assert items(value, *path) == found


def test_what_was_heard_is_added_up():
    one, other = ProbeResult(messages=("a",)), ProbeResult(skipped=(SkippedProbe("b", "c"),))
    assert one + other == ProbeResult((), (SkippedProbe("b", "c"),), ("a",))


# ── the recorded answers ──────────────────────────────────────────────────────────────────────────
def wrong_with(value, shape, at=""):
    """What of a value is not in a shape of the service's model: unknown members, other types and words."""
    if "members" in shape:
        if not isinstance(value, dict):
            return [f"{at}: no structure"]
        known = shape["members"]
        return [
            said
            for key, each in value.items()
            for said in (
                wrong_with(each, known[key], f"{at}.{key}")
                if key in known
                else [f"{at}.{key}: unknown"]
            )
        ]
    if "items" in shape:
        listed = value if isinstance(value, list) else [value]
        return [said for each in listed for said in wrong_with(each, shape["items"], f"{at}[]")]
    if shape.get("enum") and value not in shape["enum"]:
        return [f"{at}: {value} is none of its words"]
    types = {"string": str, "timestamp": str, "boolean": bool, "integer": int, "long": int}
    if not isinstance(value, types.get(shape["type"], object)):
        return [f"{at}: {value!r} is no {shape['type']}"]
    return []


def recorded():
    for kind in proofs.ids():
        if kind.startswith("live."):
            for case in proofs.read(kind).cases:
                if case.raw["base"] == "aws":
                    yield from case.raw["account"].items()


def test_every_recorded_answer_of_aws_is_one_that_its_service_can_give():
    found = []
    for name, value in (*recorded(), ("caller", proofs._CALLERS["aws"])):
        shape = SHAPES[name.partition(" ")[0]]
        if "error" in value:
            continue
        found += wrong_with(value, shape["output"], name)
    assert found == ["cluster.cluster: no structure"]  # that case is about it


def test_the_shapes_notice_what_is_wrong():
    quotas = SHAPES["quotas"]["output"]
    assert wrong_with({"Quotas": [{"Value": "x", "QuotaCod": 1}]}, quotas) == [
        ".Quotas[].QuotaCod: unknown"
    ]
    assert wrong_with({"Quotas": [{"QuotaCode": 1}]}, quotas) == [
        ".Quotas[].QuotaCode: 1 is no string"
    ]
    state = SHAPES["reservation"]["output"]
    assert wrong_with({"CapacityReservations": [{"State": "ACTIVE"}]}, state) == [
        ".CapacityReservations[].State: ACTIVE is none of its words"
    ]
