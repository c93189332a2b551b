"""Any file is read or refused with its problems, never with another error."""

import gzip
import io

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpuyard_advisor.traces import InvalidTrace, ReadOptions, read_trace
from kit.searches import examples

HEADS = (
    "name,submitted_seconds,run_seconds,gpus",
    "JobID|User|Account|State|Submit|Start|End|NNodes|AllocTRES",
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time",
)
CELLS = st.one_of(
    st.integers(-10, 10).map(str),
    st.sampled_from(
        [
            *(
                "",
                "nan",
                "-inf",
                "1e400",
                "0x1",
                "2026-11-29T10:00:00",
                "9999-12-31",
                "0001-01-01T00:00:00+14:00",
            ),
            *("cpu=1,gres/gpu=2,mem=1G", "gres/gpu:a=,mem=", "Unknown", '"', "\0", "é", "٣"),
        ]
    ),
    st.text(max_size=5),
)


def answer(data, **options):
    try:
        return read_trace(io.BytesIO(data), ReadOptions(**options))
    except InvalidTrace as refused:
        return refused


def check(data, **options):
    result = answer(data, **options)
    if isinstance(result, InvalidTrace):
        assert result.problems
        assert all(p.problem and p.line >= 0 for p in result.problems)
        return
    times = [job.submitted_seconds for job in result.jobs]
    assert times == sorted(times)
    assert times[0] == 0
    assert all(job.run_seconds >= 0 and job.gpus >= 0 and job.pods >= 1 for job in result.jobs)
    assert len({job.name for job in result.jobs}) == len(result.jobs)


@settings(max_examples=examples(1000))
@given(
    st.sampled_from(HEADS),
    st.lists(st.lists(CELLS, min_size=3, max_size=9), max_size=6),
    st.booleans(),
)
@example(HEADS[0], [["a", "1", "1", "1"], ["b", "0", "1", "1"]], True)
def test_any_rows(head, rows, skip_invalid):
    mark = "|" if "|" in head else ","
    lines = [head, *(mark.join(row) for row in rows), ""]
    check("\n".join(lines).encode("utf-8", "surrogatepass"), skip_invalid=skip_invalid)


@settings(max_examples=examples(1000))
@given(
    st.binary(max_size=200),
    st.sampled_from(
        [b"", b"{", b"[", b"kind: ", b"\x1f\x8b", b"JobID|", b"a,b\n", gzip.compress(b"a")]
    ),
)
def test_any_bytes(data, start):
    check(start + data)
