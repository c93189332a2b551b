"""`gpuyard pack slices`: GPUs for a demand of slices, the bound, and what cannot be."""

import json

import pytest

from gpuyard_advisor.advice.packing.solver import Solution


def document(gpuyard, *args, code=0):
    ended = gpuyard("pack", "slices", *args, "--format", "json")
    assert (ended.code, ended.err) == (code, "")
    return json.loads(ended.out)


def test_layouts_their_gpus_the_bound_and_what_is_spare(gpuyard):
    ended = gpuyard("pack", "slices", "A100-40GB", "1g.5gb=20", "3g.20gb=4")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        "A100-40  24 slices on 5 GPUs, optimal: 4 cannot fit them\n\n"
        "  GPUs  partitioned into\n"
        "     2  {3g.20gb: 2}\n"
        "     3  {1g.5gb: 7}\n\n"
        "  spare   {1g.5gb: 1} beyond the demand\n"
    )


def test_requests_are_given_the_smallest_slice_that_has_what_they_need(gpuyard):
    out = gpuyard("pack", "slices", "H100", "18gib=4", "30%=2", "4G.40GB=1").out
    assert "  18gib gets 1g.20gb\n  30% gets 3g.40gb\n" in out
    assert "4G.40GB gets 4g.40gb" in out
    assert "spare   nothing beyond" in gpuyard("pack", "slices", "A100-40", "7g.40gb=1").out


def test_one_gpu_needs_no_word_about_fewer(gpuyard):
    out = gpuyard("pack", "slices", "A100-40", "1g.5gb=7").out
    assert out.startswith("A100-40  7 slices on 1 GPU, optimal\n")


def test_the_document_has_it_all(gpuyard):
    found = document(gpuyard, "A100-40", "1g.5gb=6", "1gib=2")
    assert found == {
        "version": 1, "command": "pack", "findings": [], "gpu": "A100-40",
        "demand": {"1g.5gb": 8}, "requests": {"1gib": "1g.5gb"}, "gpus": 2, "least_gpus": 2,
        "bound": 2, "gap": 0, "proved": True, "cuts": [{"layout": {"1g.5gb": 7}, "gpus": 2}],
        "spare": {"1g.5gb": 6}, "left_out": {},
    }  # fmt: skip


def test_too_few_gpus_hold_what_they_can_and_the_rest_is_refused(gpuyard):
    args = ("A100-40", "7g.40gb=2", "1g.5gb=3", "--gpus", "2")
    ended = gpuyard("pack", "slices", *args)
    assert (ended.code, ended.err) == (3, "")
    assert ended.out == (
        "A100-40  5 slices on 3 GPUs, optimal: 2 cannot fit them\n\n"
        "  GPUs  partitioned into\n"
        "     2  {7g.40gb: 1}\n\n"
        "  spare   nothing beyond the demand\n\n"
        "error   unplaced: {1g.5gb: 3}: the demand needs 3 GPUs, 2 are available\n"
    )
    found = document(gpuyard, *args, code=3)
    assert (found["gpus"], found["least_gpus"], found["left_out"]) == (2, 3, {"1g.5gb": 3})


def test_no_gpus_hold_nothing_and_enough_hold_all(gpuyard):
    none = gpuyard("pack", "slices", "A100-40", "7g.40gb=2", "--gpus", "0")
    assert none.code == 3
    assert "cut into" not in none.out
    assert none.out.endswith(
        "error   unplaced: {7g.40gb: 2}: the demand needs 2 GPUs, 0 are available\n"
    )
    assert gpuyard("pack", "slices", "A100-40", "7g.40gb=2", "--gpus", "2").code == 0


def test_a_demand_without_proof_says_how_many_are_needed_at_least(gpuyard, monkeypatch):
    """The solver proves every demand there is; what it would look like if it could not."""
    from gpuyard_advisor.advice.packing import slices as packing

    def unproved(program):
        return Solution((0.0,) * (len(program.costs) - 1) + (3.0,), 3.0, 1.2, (), proved=False)

    monkeypatch.setattr(packing, "solve", unproved)
    out = gpuyard("pack", "slices", "A100-40", "1g.5gb=14").out
    assert out.startswith("A100-40  14 slices on 3 GPUs, lower bound: 2\n")


def test_a_gpu_that_cannot_be_cut_is_refused_as_by_mig(gpuyard):
    ended = gpuyard("pack", "slices", "L4", "1g.5gb=1")
    assert ended.code == 3
    assert ended.out == gpuyard("mig", "L4").out
    found = document(gpuyard, "L4", "1g.5gb=1", code=3)
    assert found["command"] == "pack"
    assert [f["id"] for f in found["findings"]] == ["mig.not_possible"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("H100", "x"),
            "'x' is not a demand. Write SLICE=COUNT, as in 1g.5gb=20, 18gib=4 or 30%=12.",
        ),
        (("H100", "1g.10gb=0"), "'1g.10gb=0' is not a demand."),
        (("H100", "1g.10gb=12345678"), "'1g.10gb=12345678' is not a demand."),
        (
            ("H100", "200gib=1"),
            (
                "200gib is more than one H100 has: 80gib, 100%."
                " A request for several GPUs cannot use slices."
            ),
        ),
        (("H100", "101%=1"), "101% is more than one H100 has"),
        (
            ("H100", "2g.20gb=1", "1g.5gb=1"),
            (
                "H100 has no slice '1g.5gb'. Available: 1g.10gb, 1g.20gb, 2g.20gb, 3g.40gb,"
                " 4g.40gb, 7g.80gb. Did you mean 1g.10gb?"
            ),
        ),
        (("H100", "1g.10gb+me=1"), "H100 has no slice '1g.10gb+me'"),
        (("H100", "\x1b[31m=1"), "H100 has no slice"),
        (("H1000", "1g.10gb=1"), "no GPU 'H1000' in the catalogue"),
        (("H100",), "Missing argument"),
        (("H100", "1g.10gb=1", "--gpus", "-1"), "See `gpuyard pack slices --help`."),
    ],
)
def test_wrong_usage_is_one_sentence(gpuyard, args, message):
    ended = gpuyard("pack", "slices", *args)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_without_the_solver_the_environment_lacks_something(gpuyard, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "highspy", None)
    ended = gpuyard("pack", "slices", "H100", "1g.10gb=1")
    assert (ended.code, ended.out) == (4, "")
    assert "pip install 'gpuyard[solve]'" in ended.err
