"""No file whatsoever makes a command fail: an answer, or a sentence."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.searches import examples

EXAMPLES = 150
"""Of each test; there are two. `make campaign NAME=properties` tries more."""
LOCAL = (Path(__file__).parents[2] / "stacks" / "Pulumi.local.yaml").read_bytes()
WORDS = [
    b"null", b"-1", b"0", b"1e999", b"[]", b"{}", b"''", b"true", b"&a", b"*a", b"<<: *a", b"!!binary x",
    b"9..2",
    b"\x00", b"\xff", b"\xe2\x80\xae", b"\x1b[31m", b"[red]", b"? ", b": ", b"- ", b"{", b"}", b"secure",
    b"999999999",
]  # fmt: skip

few = settings(
    max_examples=examples(EXAMPLES),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def answered(gpuyard):
    """Ask for the plan of these bytes; the answer must be one we promise."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.yaml")

        def ask(data: bytes) -> None:
            path.write_bytes(data)
            ended = gpuyard("check", path)
            assert ended.code in {0, 2, 3}, (ended, data)
            assert "Traceback" not in ended.out + ended.err
            assert all(line.isprintable() for line in (ended.out + ended.err).splitlines()), data

        yield ask


@pytest.mark.timeout(120)
@few
@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_answered(answered, data):
    answered(data)


@st.composite
def mutated(draw) -> bytes:
    """The local stack with a few places overwritten, cut out or doubled."""
    data = LOCAL
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 30)))
        piece = draw(
            st.one_of(st.sampled_from(WORDS), st.binary(max_size=8), st.just(data[start:end] * 2))
        )
        data = data[:start] + piece + data[end:]
    return data


@pytest.mark.timeout(120)
@few
@given(mutated())
def test_a_damaged_stack_file_is_answered(answered, data):
    answered(data)
