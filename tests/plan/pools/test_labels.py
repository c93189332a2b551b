"""Labels of a pool: what the kubelet takes, to the letter."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpuyard.plan.pools.own_nodes import GRAMMAR, hardware_labels, is_name
from gpuyard.spec.pools import Pool
from gpuyard.spec.read import read_platform
from gpuyard_core.catalogue.gpus import GPUS
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.sources import find_source
from kit.every import every
from kit.fixes import applied
from kit.stacks import findings, only, parts, platform, pool

NAME = (
    "letters, digits, dashes, dots and underscores, with a letter or digit at both ends, at most 63"
)
P0 = ("pools", 0)


def labelled(key, value="x"):
    return platform([pool(labels={key: value})])


def test_where_the_forms_are_from_is_said():
    source = find_source("api.labels")
    assert source.verified
    assert "Labels" in source.title
    assert GRAMMAR == NAME


@pytest.mark.parametrize(
    ("key", "fix", "value"),
    [
        ("cost centre", "write cost-centre", {"cost-centre": "x"}),
        ("-tier-", "write tier", {"tier": "x"}),
        ("x" * 64, f"write {'x' * 63}", {"x" * 63: "x"}),
        ("Example.org/tier", "write example.org/tier", {"example.org/tier": "x"}),
        ("exam_ple/tier", "write tier", {"tier": "x"}),
        ("/tier", "write tier", {"tier": "x"}),
        ("a/b/tier", "write tier", {"tier": "x"}),
        ("example.org/", "remove it", None),
        ("???", "remove it", None),
    ],
)
def test_a_key_that_kubernetes_does_not_take_is_refused_and_a_near_one_suggested(key, fix, value):
    raw = labelled(key)
    finding = only(raw)
    assert parts(finding) == (
        "pool.label_key",
        (*P0, "labels", key),
        "not a valid Kubernetes label key",
        key,
        f"NAME or DOMAIN/NAME; a name has {NAME}",
    )
    assert (finding.fix.message, finding.fix.value) == (fix, value)
    assert findings(applied(raw, finding.fix)) == []


def test_a_key_whose_near_one_is_there_already_goes():
    raw = platform([pool(labels={"tier": "a", "tier ": "b"})])
    finding = only(raw)
    assert (finding.fix.message, finding.fix.value) == ("remove it", None)
    assert applied(raw, finding.fix)["pools"][0]["labels"] == {"tier": "a"}


@pytest.mark.parametrize(
    ("value", "near"),
    [
        ("gold tier", "gold-tier"),
        ("team@example.org", "team-example.org"),
        ("_gold_", "gold"),
        ("x" * 64, "x" * 63),
        ("a/b", "a-b"),
        ("größe", "gr-e"),
        ("***", None),
    ],
)
def test_a_value_that_kubernetes_does_not_take_is_refused(value, near):
    raw = labelled("tier", value)
    finding = only(raw)
    assert parts(finding) == (
        "pool.label_value",
        (*P0, "labels", "tier"),
        "not a valid Kubernetes label value",
        value,
        NAME,
    )
    assert finding.fix.value == near
    assert findings(applied(raw, finding.fix)) == []


@pytest.mark.parametrize("text", ["x", "X", "0", "a.b_c-d", "x" * 63, "a--b"])
def test_what_is_only_near_is_taken(text):
    assert is_name(text)
    assert findings(labelled(text, text)) == []
    assert findings(labelled(f"example.org/{text}", text)) == []
    assert findings(labelled(f"{'a' * 63}.{'b' * 63}/{text}")) == []


@given(st.text(min_size=1, max_size=80).filter(lambda text: text.isprintable()))
def test_whatever_is_written_as_a_label_the_fixes_lead_to_one_that_is_taken(text):
    raw = labelled(text, text)
    assume(read_platform(raw).spec is not None)
    for _ in range(3):
        found = findings(raw)
        if not found:
            return
        raw = applied(raw, found[0].fix)
    raise AssertionError(text)


# ── hardware ──────────────────────────────────────────────────────────────────────────────────────
def hardware(*machines, **rest):
    one = Pool.model_validate({"name": "a", "machine": machines[0], "nodes": 1, **rest})
    found = hardware_labels(one, [MACHINES[name] for name in machines])
    return {key.removeprefix("gpuyard.dev/"): value for key, value in found.items()}


@every(
    ("machine", "fabric", "nvlink", "gpus"),
    [
        ("p5.48xlarge", "efa", "4", "8"),
        ("p5.4xlarge", "efa", None, None),
        ("g6.xlarge", None, None, None),
        ("m7i.xlarge", None, None, None),
        ("p6e-gb200.36xlarge", "efa", "5", None),  # UltraServers have 36 GPUs or 72
        ("p3dn.24xlarge", "efa", "2", "8"),
        ("a2-highgpu-8g", None, "3", "8"),
        ("a3-megagpu-8g", "gpudirect-tcpxo", "4", "8"),
        ("a4x-highgpu-4g", "gpudirect-rdma", "5", "72"),
    ],
)
def test_nodes_carry_labels_for_nvlink_and_the_network_fabric(machine, fabric, nvlink, gpus):
    found = hardware(machine)
    assert tuple(map(found.get, ("fabric", "nvlink", "nvlink-gpus"))) == (fabric, nvlink, gpus)


def test_the_fabric_of_a_stack_file_is_the_one_of_the_label():
    assert hardware("p5.48xlarge", fabric={"kind": "infiniband"})["fabric"] == "infiniband"


def test_a_pool_of_several_machines_carries_the_labels_that_hold_for_all_of_them():
    assert hardware("p4d.24xlarge", "p5.48xlarge") == {"fabric": "efa", "nvlink-gpus": "8"}
    assert hardware("p4d.24xlarge", "g6.48xlarge") == {"fabric": "efa"}


def test_every_gpu_with_nvlink_has_a_generation():
    assert find_source("gpus.nvlink").title
    for gpu in GPUS.values():
        assert (gpu.nvlink_generation is None) is (gpu.nvlink_gbps == 0)
