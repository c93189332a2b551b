"""What is known of inputs before a deployment."""

from gpuyard.changes.settling import Mark, at_path, has_mark, settled
from gpuyard.plan.records.late import Late
from gpuyard.render.cloud.graph import Base64, Joined, Json
from kit.every import every

KNOWN = {"a.id": "vpc-1", "b.id": Mark.LATER, "c.id": Mark.ASKED, "t.version": 3.0}
A, B, C = Late("a.id"), Late("b.id"), Late("c.id")


@every(
    "value, found",
    [
        (A, "vpc-1"),
        (B, Mark.LATER),
        (Late("t.version"), 3),
        (Joined("x/", A), "x/vpc-1"),
        (Joined("x/", A, C), Mark.ASKED),
        (Json({"x": [B, C]}), Mark.LATER),
        (Base64("x"), "eA=="),
        ({"k": [A, {"m": C}], "n": (1, None)}, {"k": ["vpc-1", {"m": Mark.ASKED}], "n": [1, None]}),
    ],
)
def test_a_text_around_something_unknown_is_unknown(value, found):
    assert settled(value, KNOWN.__getitem__) == found


def test_a_mark_is_found_anywhere():
    assert has_mark({"a": [1, {"b": Mark.ASKED}]}, Mark.ASKED)
    assert not has_mark({"a": [1, {"b": Mark.ASKED}]}, Mark.LATER)


@every(
    "steps, found",
    [
        (["a", "0", "b"], 1),
        (["a", "7"], None),
        (["a", "x"], None),
        (["m", "deep", "er"], Mark.LATER),
        (["s", "x"], None),
    ],
)
def test_a_path_leads_into_blocks_and_lists(steps, found):
    assert at_path({"a": [{"b": 1}], "m": Mark.LATER, "s": "text"}, steps) == found
