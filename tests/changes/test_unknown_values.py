"""What is known of inputs before a deployment."""

from gpuyard.changes.fields import UnknownMarker, at_path, has_unknown, replace_unknowns
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import Base64, Joined, Json
from kit.every import every

KNOWN = {
    "a.id": "vpc-1",
    "b.id": UnknownMarker.COMPUTED,
    "c.id": UnknownMarker.QUERIED,
    "t.version": 3.0,
}
A, B, C = UnresolvedOutput("a.id"), UnresolvedOutput("b.id"), UnresolvedOutput("c.id")


@every(
    "value, found",
    [
        (A, "vpc-1"),
        (B, UnknownMarker.COMPUTED),
        (UnresolvedOutput("t.version"), 3),
        (Joined("x/", A), "x/vpc-1"),
        (Joined("x/", A, C), UnknownMarker.QUERIED),
        (Json({"x": [B, C]}), UnknownMarker.COMPUTED),
        (Base64("x"), "eA=="),
        ("${input:cluster.key}/*", UnknownMarker.QUERIED),
        (["a", "${inputs:cluster.network.subnets.private}"], UnknownMarker.QUERIED),
        (
            {"k": [A, {"m": C}], "n": (1, None)},
            {"k": ["vpc-1", {"m": UnknownMarker.QUERIED}], "n": [1, None]},
        ),
    ],
)
def test_a_text_around_something_unknown_is_unknown(value, found):
    assert replace_unknowns(value, KNOWN.__getitem__) == found


def test_a_mark_is_found_anywhere():
    assert has_unknown({"a": [1, {"b": UnknownMarker.QUERIED}]}, UnknownMarker.QUERIED)
    assert not has_unknown({"a": [1, {"b": UnknownMarker.QUERIED}]}, UnknownMarker.COMPUTED)


@every(
    "steps, found",
    [
        (["a", "0", "b"], 1),
        (["a", "7"], None),
        (["a", "x"], None),
        (["m", "deep", "er"], UnknownMarker.COMPUTED),
        (["s", "x"], None),
    ],
)
def test_a_path_leads_into_blocks_and_lists(steps, found):
    assert at_path({"a": [{"b": 1}], "m": UnknownMarker.COMPUTED, "s": "text"}, steps) == found
