"""What GKE's own device plugin makes of a pool: names, numbers, labels, and what it cannot do.

What is refused has its proofs under proofs/mig.partition and proofs/sharing.one_name.
"""

from fractions import Fraction

import pytest

from gpuyard.plan.sharing.gke_sharing import (
    gke_labels,
    is_gke_managed,
    partition_of,
    single_request_resources,
    strategy_of,
)
from gpuyard_core.catalogue.gke.sharing import PARTITIONS
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.sharing import MAX_REPLICAS
from gpuyard_core.names import GPU
from kit.every import every
from kit.fixes import check_fix
from kit.stacks import ids, only, plan_of, platform, pool, team

LABEL = "cloud.google.com/gke-"
SEVENTHS = {"mig": {"1g.5gb": 7}}


def gke(name="serve", machine="a2-highgpu-8g", image="cos-gke", **rest):
    given = {"nodes": 2, "zones": ["us-central1-a"], **rest}
    return pool(name, machine=machine, image=image, **given)


def on_gke(*pools, **rest):
    return platform(pools, cloud="gcp", **rest)


def planned(sharing, **rest):
    (one,) = plan_of(on_gke(gke(sharing=sharing, **rest))).pools
    return one


@every(
    "sharing, per_node, unit, share, size, strategy",
    [
        ({"time_slicing": 4}, 32, "shared", Fraction(1, 4), "", "TIME_SHARING"),
        ({"mps": 8}, 64, "shared", Fraction(1, 8), "", "MPS"),
        (SEVENTHS, 56, "1g.5gb", Fraction(1, 7), "1g.5gb", ""),
        ({"mig": {"3g.20gb": 2}}, 16, "3g.20gb", Fraction(1, 2), "3g.20gb", ""),
        (
            *({**SEVENTHS, "time_slicing": 2}, 112, "1g.5gb.shared"),
            *(Fraction(1, 14), "1g.5gb", "TIME_SHARING"),
        ),
        (
            *({"mig": [{"gpus": "0-3", "1g.5gb": 7}, {"gpus": "4-7", "1g.5gb": 7}]}, 56, "1g.5gb"),
            *(Fraction(1, 7), "1g.5gb", ""),
        ),
    ],
)
def test_all_is_called_gpu_and_units_say_what_it_is(sharing, per_node, unit, share, size, strategy):
    one = planned(sharing)
    (offer,) = one.advertised
    assert (offer.resource, offer.per_node, offer.unit, offer.gpu_share) == (
        *(GPU, per_node, unit, share),
    )
    assert (partition_of(one), strategy_of(one), is_gke_managed(one)) == (size, strategy, True)


def test_no_agent_of_the_operator_is_told_anything():
    one = planned({**SEVENTHS, "time_slicing": 2})
    assert (one.mig_config, one.plugin_config, one.mig_strategy) == (None, "serve", "none")
    assert "nvidia.com/mig.config" not in one.labels
    assert one.labels["nvidia.com/gpu.deploy.operands"] == "false"


def test_nodes_say_how_their_gpus_are_cut_and_shared():
    assert gke_labels(planned({**SEVENTHS, "time_slicing": 2})) == {
        f"{LABEL}gpu-partition-size": "1g.5gb",
        f"{LABEL}gpu-sharing-strategy": "time-sharing",
        f"{LABEL}max-shared-clients-per-gpu": "2",
    }
    assert gke_labels(planned({"mps": 8})) == {
        f"{LABEL}gpu-sharing-strategy": "mps",
        f"{LABEL}max-shared-clients-per-gpu": "8",
    }
    assert gke_labels(planned({})) == {}
    assert gke_labels(planned({"mps": 8}, image="cos")) == {}
    (own,) = plan_of(platform(cloud="simulated")).pools
    assert not is_gke_managed(own)


def test_nobody_else_may_set_the_labels_that_gke_sets():
    raw = on_gke(gke(labels={f"{LABEL}gpu-partition-size": "1g.5gb"}))
    assert ids(raw) == ["pool.label_reserved"]


def test_the_same_pool_with_the_operators_plugin_has_names_for_all_of_it():
    one = planned(SEVENTHS, image="cos")
    assert [each.resource for each in one.advertised] == ["nvidia.com/mig-1g.5gb"]
    assert (is_gke_managed(one), partition_of(one), strategy_of(one)) == (False, "", "")


def test_gkes_autoscaler_knows_what_gke_hands_out():
    (one,) = plan_of(on_gke(gke(sharing={"time_slicing": 4}, nodes="0..4"))).pools
    assert (one.autoscaler_hints.source, one.autoscaler_hints.undiscovered_resources) == (
        "cloud",
        (),
    )
    raw = on_gke(gke(sharing={"time_slicing": 4}, nodes="0..4", image="cos"))
    assert "scaling.blind" in ids(raw)


def test_guarantees_are_written_by_unit_and_quotas_count_the_one_name():
    raw = on_gke(
        gke(sharing=SEVENTHS),
        teams=[
            team("vision", guarantee={"serve/1g.5gb": 10}),
            team("speech", guarantee={"serve": 2}),
        ],
    )
    vision, speech = plan_of(raw).teams
    assert [(q.resource, q.nominal) for q in vision.quotas] == [(GPU, 10)]
    assert [(q.resource, q.nominal) for q in speech.quotas] == [(GPU, 14)]
    assert {key for key in vision.hard if "nvidia.com" in key} >= {f"requests.{GPU}"}


def test_a_shape_takes_its_share_where_it_is_and_no_whole_gpu():
    share = {"name": "chat", "per_pod": {"shares": 1, "cpu": 1, "memory_gib": 4}}
    found = plan_of(on_gke(gke(sharing={"time_slicing": 4}), shapes=[share])).shapes[0]
    assert (found.resource, found.per_node) == (GPU, 1)
    whole = on_gke(gke(sharing={"time_slicing": 4}), shapes=[{"name": "big", "gpus_per_node": 1}])
    assert only(whole).id == "shape.cannot_start"


# ── sizes ─────────────────────────────────────────────────────────────────────────────────────────
def test_sizes_of_gke_are_profiles_and_as_many_as_fit():
    for gpu, sizes in PARTITIONS.items():
        counts = {p.name: p.max_count for p in MIG_PRODUCTS[gpu].profiles if not p.variant}
        assert sizes.items() <= counts.items(), gpu


def test_every_model_that_google_sells_and_that_can_be_cut_has_sizes():
    sold = [m for m in MACHINES.values() if m.cloud == "gcp" and m.gpu and m.gpu.mig]
    assert {m.gpu.mig.gpu for m in sold if not m.uses_cdmm} <= PARTITIONS.keys()


def test_as_many_may_share_as_a_stack_file_can_say():
    assert MAX_REPLICAS == 48  # of GKE as well: source `sharing`


@pytest.mark.parametrize(
    ("mig", "near"),
    [
        ({"1g.5gb": 6}, "{1g.5gb: 7}"),
        ({"1g.5gb": 1, "2g.10gb": 2}, "{2g.10gb: 3}"),
        ({"1g.10gb": 4}, "{1g.5gb: 7}"),
        ([{"gpus": "0-6", "2g.10gb": 3}, {"gpus": "7", "1g.5gb": 7}], "{2g.10gb: 3}"),
    ],
    ids=["fewer", "two sizes", "a size that GKE lacks", "two layouts"],
)
def test_the_nearest_layout_that_gke_makes(mig, near):
    raw = on_gke(gke(sharing={"mig": mig}))
    finding = only(raw)
    assert finding.id == "mig.partition"
    assert finding.fix.message == f"write mig: {near}, or image: cos"
    check_fix(raw, finding)


# ── one name ──────────────────────────────────────────────────────────────────────────────────────
def both(first, second, **vision):
    return on_gke(first, second, teams=[team("vision", **vision)])


SHARED = gke("dev", sharing={"time_slicing": 4})


@pytest.mark.parametrize(
    ("first", "second", "guarantee", "refused"),
    [
        (gke(), SHARED, {"serve": 1, "dev/shared": 1}, True),
        (gke(image="cos"), SHARED, {"serve": 1, "dev/shared": 1}, True),
        (gke(sharing=SEVENTHS), SHARED, {"serve": 1, "dev/shared": 1}, True),
        (gke(sharing={"time_slicing": 2}), SHARED, {"serve": 1, "dev/shared": 1}, True),
        (gke(sharing={"mps": 4}), SHARED, {"serve": 1, "dev/shared": 1}, False),
        (gke(image="cos", sharing=SEVENTHS), SHARED, {"serve": 1, "dev/shared": 1}, False),
        (gke(), SHARED, {"dev/shared": 1}, False),
        (gke(), gke("dev", image="cos"), {"serve": 1, "dev": 1}, False),
    ],
    ids=[
        *("whole by GKE", "whole by the operator", "slices", "other shares"),
        *("as many shares", "named slices", "one of them", "nothing is shared"),
    ],
)
def test_a_team_has_one_kind_of_what_is_called_gpu(first, second, guarantee, refused):
    assert ids(both(first, second, guarantee=guarantee)) == ["sharing.one_name"] * refused


def test_what_is_borrowed_counts_too_and_the_operators_names_help():
    raw = both(gke(), SHARED, guarantee={"serve": 1}, borrow={"dev/shared": 1})
    finding = only(raw)
    assert finding.where == "teams[0]"
    assert finding.problem == (
        "the queue of vision counts nvidia.com/gpu, which has different meanings in its pools "
        "(serve has whole GPUs; dev has 1/4 of a GPU (shared)): it would admit a pod to either"
    )
    check_fix(raw, finding)


def test_of_two_pools_that_gke_shares_no_program_chooses():
    finding = only(both(gke(sharing=SEVENTHS), SHARED, guarantee={"serve": 1, "dev/shared": 1}))
    assert (finding.fix.message, finding.fix.at) == ("write image: cos for serve, dev", None)


# ── one share ─────────────────────────────────────────────────────────────────────────────────────
@every(
    "sharing, machine, image, names",
    [
        ({"time_slicing": 4}, "a2-highgpu-8g", "cos-gke", {GPU}),
        ({"mps": 4}, "g2-standard-48", "cos-gke", {GPU}),
        ({**SEVENTHS, "time_slicing": 2}, "a2-highgpu-1g", "cos-gke", {GPU}),
        ({"time_slicing": 4}, "a2-highgpu-1g", "cos-gke", set()),
        (SEVENTHS, "a2-highgpu-8g", "cos-gke", set()),
        ({}, "a2-highgpu-8g", "cos-gke", set()),
        ({"time_slicing": 4}, "a2-highgpu-8g", "cos", set()),
    ],
)
def test_names_of_shares_that_do_not_say_so(sharing, machine, image, names):
    assert single_request_resources([planned(sharing, machine=machine, image=image)]) == names
