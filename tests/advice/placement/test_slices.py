"""Slices that come and go: starts are valid and free, moves make room, and no more than allowed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_advisor.advice.placement.slices import SliceCluster
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from kit.searches import examples

A100 = MIG_PRODUCTS["A100-40"]
NAMES = [profile.name for profile in A100.profiles if not profile.variant]


def starts(cluster):
    return {key: (each.gpu, each.profile.name, each.start) for key, each in cluster.slices.items()}


def test_a_slice_goes_to_the_fullest_gpu_that_fits_it():
    cluster = SliceCluster(A100, 2)
    for key, name in enumerate(["4g.20gb", "3g.20gb", "2g.10gb", "1g.5gb"]):
        cluster.place(key, name)
    assert {key: gpu for key, (gpu, _, _) in starts(cluster).items()} == {0: 0, 1: 0, 2: 1, 3: 1}


def test_one_move_makes_room_for_a_whole_gpu():
    cluster = SliceCluster(A100, 2)
    for key, name in enumerate(["4g.20gb", "3g.20gb", "3g.20gb"]):
        cluster.place(key, name)
    cluster.remove(1)
    assert cluster.place("whole", "7g.40gb") == (None, ())
    placed, moves = cluster.place("whole", "7g.40gb", max_moves=1)
    assert (placed.gpu, placed.start) == (1, 0)
    assert [(move.key, move.source.gpu, move.target.gpu) for move in moves] == [(2, 1, 0)]
    assert starts(cluster)[2] == (0, "3g.20gb", 4)


def test_no_more_slices_move_than_allowed():
    cluster = SliceCluster(A100, 2)
    for key in range(7):
        cluster.place(key, "1g.5gb")
    for key in range(7, 9):
        cluster.place(key, "1g.5gb")
    for key in (0, 1):
        cluster.remove(key)
    assert cluster.place("whole", "7g.40gb", max_moves=1) == (None, ())
    _, moves = cluster.place("whole", "7g.40gb", max_moves=2)
    assert len(moves) == 2


def test_an_unknown_profile_is_named():
    with pytest.raises(KeyError, match="A100-40 has no profile 5g"):
        SliceCluster(A100, 1).place(0, "5g")


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.booleans(), st.integers(0, 3)), max_size=40))
def test_slices_never_overlap_and_keep_their_profile(events):
    cluster, wanted = SliceCluster(A100, 3), {}
    for key, (name, leaves, moves) in enumerate(events):
        placed, moved = cluster.place(key, name, moves)
        assert len(moved) <= moves
        if placed:
            wanted[key] = name
        if leaves and wanted:
            gone = next(iter(wanted))
            cluster.remove(gone)
            del wanted[gone]
        assert {k: each.profile.name for k, each in cluster.slices.items()} == wanted
        used = set()
        for each in cluster.slices.values():
            assert each.start in each.profile.starts
            units = {(each.gpu, each.start + unit) for unit in range(each.profile.units)}
            assert not units & used
            used |= units
