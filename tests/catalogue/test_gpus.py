"""Every GPU row, against rules that hold for all of them."""

from datetime import UTC, datetime

import pytest

from gpuyard_core.catalogue.gpus import GPUS, MIG_PRODUCTS, find_gpu, gpu_spellings
from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS
from gpuyard_core.catalogue.software.versions import parse_version
from gpuyard_core.catalogue.sources import find_source, source_ids
from kit.every import every

TODAY = datetime.now(UTC).date()
CUTTABLE = {(8, 0), (9, 0), (10, 0), (10, 3), (12, 0)}
"""Compute capabilities whose GPUs have MIG, going by the MIG User Guide's list of products."""
ROWS = [pytest.param(gpu, id=name) for name, gpu in GPUS.items()]


@every("gpu", ROWS)
def test_a_gpu_says_where_its_facts_come_from_and_since_when(gpu):
    assert gpu.source.title
    assert gpu.source.checked_on <= TODAY


@every("gpu", ROWS)
def test_a_gpu_has_memory_and_an_architecture_that_fits_its_compute_capability(gpu):
    major, minor = gpu.compute_capability
    assert gpu.memory_gib > 0
    assert gpu.nvlink_gbps >= 0
    assert {
        "Pascal": major == 6,
        "Volta": major == 7 and minor < 5,
        "Turing": (major, minor) == (7, 5),
        "Ampere": major == 8 and minor < 9,
        "Ada": (major, minor) == (8, 9),
        "Hopper": major == 9,
        "Blackwell": major >= 10,
    }[gpu.architecture]


@every("gpu", ROWS)
def test_memory_named_in_a_spelling_is_the_memory(gpu):
    """A GH200 is named for the memory of its processor."""
    for spelling in (gpu.product, *gpu.aliases):
        if "GH200" in spelling and gpu.memory_gib == 96:
            continue
        for word in spelling.split("-"):
            if word.endswith("GB"):
                assert int(word[:-2]) == gpu.memory_gib, spelling


@every("gpu", ROWS)
def test_the_product_is_a_label_value(gpu):
    assert len(gpu.product) <= 63
    assert all(c.isalnum() or c in "-_." for c in gpu.product)


@every("gpu", ROWS)
def test_a_gpu_is_found_by_each_of_its_spellings_whatever_the_case(gpu):
    for spelling in (gpu.name, gpu.product, *gpu.aliases):
        assert find_gpu(spelling) is gpu
        assert find_gpu(spelling.lower()) is gpu
        assert find_gpu(spelling.upper()) is gpu


def test_no_two_gpus_share_a_spelling():
    spellings = [s.lower() for g in GPUS.values() for s in {g.name, g.product, *g.aliases}]
    assert sorted(set(spellings)) == sorted(spellings)


@every(
    ("spelling", "name"),
    [
        ("A100-40GB", "A100-40"),
        ("A100-40", "A100-40"),
        ("NVIDIA-A100-SXM4-40GB", "A100-40"),
        ("NVIDIA-A100-SXM4-40GB-SHARED", "A100-40"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "A100-40"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb+me", "A100-40"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED", "A100-40"),
        ("NVIDIA-A100-SXM4-40GB-MIG-INVALID", "A100-40"),
        ("NVIDIA A100 80GB PCIe", "A100-PCIe-80"),
        ("a100-80gb", "A100-80"),
        ("H100", "H100"),
        ("H100-80", "H100"),
        ("H100-80GB", "H100"),
        ("H100 80 GB", "H100"),
        ("H100-80GiB", "H100"),
        ("NVIDIA-H100-80GB-HBM3", "H100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("2330", "H100"),
        ("0x2330", "H100"),
        ("10de:2330", "H100"),
        ("0x233010DE", "H100"),
        ("H100-NVL", "H100-94"),
        ("H100-94GB", "H100-94"),
        ("H200", "H200"),
        ("H200-141", "H200"),
        ("H20-96GB", "H20"),
        ("H20-141GB", "H20-141"),
        ("A30-24GB", "A30"),
        ("B200", "B200"),
        ("B200-180GB", "B200"),
        ("GB300-279", "GB300"),
        ("V100-16GB", "V100-16"),
        ("RTX PRO 6000", "RTX6000"),
        ("RTX-PRO-6000-96GB", "RTX6000"),
        ("RTX A6000", "RTX-A6000"),
        ("RTX 6000 Ada Generation", "RTX-6000-Ada"),
        ("Tesla-T4", "T4"),
        ("T4-16", "T4"),
        ("NVIDIA-L4", "L4"),
        ("l40s-48g", "L40S"),
        ("NVIDIA A40", "A40"),
        ("GH200", "GH200"),
        ("NVIDIA GH200 120GB", "GH200"),
        ("P100", "P100"),
    ],
)
def test_the_usual_spellings_are_known(spelling, name):
    assert GPUS[name] is find_gpu(spelling)


@pytest.mark.parametrize(
    "spelling",
    [
        "",
        "A100",
        "A100-60GB",
        "H100-81GB",
        "K80",
        "MI300X",
        "80GB",
        "2331x",
        "9999",
        "0xbeef",
        "-MIG-1g.5gb",
    ],
)
def test_what_nobody_calls_a_gpu_of_ours_is_not_found(spelling):
    assert find_gpu(spelling) is None


def test_a_device_id_belongs_to_one_gpu():
    ids = [gpu.pci_id for gpu in GPUS.values() if gpu.pci_id]
    shared = {name for name, gpu in GPUS.items() if gpu.pci_id is None}
    assert shared == {"A2", "A16", "RTX5000-48", "RTX5000-72"}
    assert len(set(ids)) == len(ids) == len(GPUS) - len(shared)
    assert all(int(i, 16) and i == i.upper() and len(i) == 4 for i in ids)


@every("gpu", ROWS)
def test_drivers_of_a_gpu_begin_before_they_end(gpu):
    if gpu.architecture in {"Hopper", "Blackwell"}:
        assert gpu.first_driver
    if gpu.first_driver:
        assert parse_version("driver", gpu.first_driver).numbers >= (515,)
        assert gpu.last_driver_branch is None
    assert (gpu.last_driver_branch == 580) == (gpu.compute_capability < (7, 5))


def test_suggestions_are_the_catalogue_names():
    assert gpu_spellings() == tuple(GPUS)


@every("gpu", ROWS)
def test_a_gpu_that_can_be_cut_has_the_memory_of_its_largest_slice(gpu):
    if gpu.mig is None:
        assert gpu.name not in MIG_PRODUCTS
        return
    largest = max(int(p.name.split("gb")[0].split("g.")[1]) for p in gpu.mig.profiles)
    # B300 and GB300 report a GiB less to MIG than they are sold with.
    assert gpu.memory_gib - largest in ({0, 1} if "300" in gpu.name else {0})


def test_a_gpu_without_published_geometry_cannot_be_cut():
    whole = {name for name, gpu in GPUS.items() if gpu.mig is None}
    old = {name for name, gpu in GPUS.items() if gpu.compute_capability not in CUTTABLE}
    desks = {"RTX5000-72", "RTX-5090"}
    assert whole == old | desks


def test_bridges_between_cards_are_no_domain():
    """The data sheets of these cards sell a bridge to one or three others; a node need not have it."""
    bridged = {"A30", "H100-94", "H800-94", "H200-NVL"}
    cards = {
        name for name, gpu in GPUS.items() if "PCIe" in gpu.product or gpu.product.endswith("NVL")
    }
    assert {GPUS[name].nvlink_gbps for name in bridged | cards} == {0}


def test_boards_for_export_have_slower_links_and_are_cut_alike():
    for name, like in (("A800-40", "A100-40"), ("A800-80", "A100-80"), ("H800", "H100")):
        ours, theirs = GPUS[name], GPUS[like]
        assert ours.nvlink_gbps == 400 < theirs.nvlink_gbps
        assert (ours.partitioned_like, ours.memory_gib) == (like, theirs.memory_gib)


@pytest.mark.parametrize("id_", source_ids())
def test_a_source_was_looked_at_already(id_):
    source = find_source(id_)
    assert source.title.strip() == source.title != ""
    assert source.checked_on <= TODAY


def test_kubernetes_minors_are_in_order():
    minors = [tuple(int(n) for n in v.split(".")) for v in KUBERNETES_MINORS]
    assert minors == sorted(set(minors))
