"""MIG rows: names follow from memory, places are on the GPU, counts can be reached; and upstream agrees."""

import math
from functools import lru_cache

import pytest
import yaml

from gpuyard_core.catalogue.gpus import GPUS, MIG_PRODUCTS
from gpuyard_core.catalogue.mig import ALTERNATIVE_PRODUCTS
from gpuyard_core.catalogue.mig_layouts import place_profiles
from kit.every import every
from kit.levels import upstream

PRODUCTS = [
    *(pytest.param(product, id=name) for name, product in MIG_PRODUCTS.items()),
    *(pytest.param(product, id=f"{name} too") for name, product in ALTERNATIVE_PRODUCTS.items()),
]


def named_gb(name: str) -> int:
    return int(name.partition("g.")[2].partition("gb")[0])


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_memory_in_a_name_follows_from_the_share_of_the_memory(product):
    for profile in product.profiles:
        total = max(named_gb(p.name) for p in product.profiles)
        eighths = math.ceil(8 * profile.units / product.units) / 8
        assert named_gb(profile.name) == math.floor(eighths * total + 0.5)


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_slices_in_a_name_are_the_slices(product):
    for profile in product.profiles:
        assert int(profile.name.partition("g.")[0]) == profile.slices <= product.slices


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_place_of_a_slice_is_on_the_gpu(product):
    for profile in product.profiles:
        assert list(profile.starts) == sorted(set(profile.starts))
        assert all(0 <= start <= product.units - profile.units for start in profile.starts)


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_maximum_can_be_reached_and_is_not_below_what_fits(product):
    for profile in product.profiles:
        free, fits = 0, 0
        for start in profile.starts:
            if start >= free:
                free, fits = start + profile.units, fits + 1
        by_compute = product.slices // profile.slices
        assert profile.max_count == (1 if profile.media_exclusive else min(fits, by_compute))


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_resource_name_has_no_plus(product):
    for profile in product.profiles:
        assert profile.resource == f"nvidia.com/mig-{profile.name}".replace("+", ".")
        assert product.profile(profile.name) is profile


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_has_each_profile_once_and_no_other(product):
    names = [p.name for p in product.profiles]
    assert len(set(names)) == len(names)
    assert len({p.resource for p in product.profiles}) == len(names)
    assert product.profile("1g.1gb") is None


@pytest.mark.parametrize("product", PRODUCTS)
def test_media_and_graphics_slices_are_variants(product):
    for profile in product.profiles:
        assert profile.variant == any(mark in profile.name for mark in ("+", "-"))
        assert profile.media_exclusive <= profile.variant


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_largest_slice_is_the_whole_gpu(product):
    largest = max(product.profiles, key=lambda p: p.units)
    assert (largest.units, largest.slices) == (product.units, product.slices)


def test_geometry_that_was_inferred_is_marked():
    assert MIG_PRODUCTS["A100-40"].source.verified
    assert not MIG_PRODUCTS["H200"].source.verified


def test_most_products_are_gpus_of_the_catalogue():
    assert set(MIG_PRODUCTS) - set(GPUS) == {"H100-96"}


@pytest.mark.parametrize(
    "gpu", [pytest.param(g, id=n) for n, g in GPUS.items() if g.partitioned_like]
)
def test_a_gpu_that_is_cut_like_another_has_its_geometry_under_its_own_name(gpu):
    other = MIG_PRODUCTS[gpu.partitioned_like]
    assert gpu.name not in MIG_PRODUCTS
    assert (gpu.mig.gpu, gpu.mig.profiles) == (gpu.name, other.profiles)


# PCI ids of the operator's static map (device id, then NVIDIA's vendor id).
DEVICES = {
    "A100-40": "0x20B010DE",
    "A100-80": "0x20B210DE",
    "A30": "0x20B710DE",
    "H100": "0x233010DE",
    "H100-94": "0x232110DE",
    "H200": "0x233510DE",
    "B200": "0x290110DE",
    "B300": "0x318210DE",
    "GB300": "0x31C210DE",
    "RTX6000": "0x2BB510DE",
}


@lru_cache
def upstream_layouts(*where):
    """(name, device filters, slices) of every layout that cuts something."""
    text = upstream("data", *where).read_text(encoding="utf-8")
    return list(read_layouts(yaml.load(text, yaml.CSafeLoader)))


def read_layouts(config):
    if "data" in config:
        config = yaml.load(config["data"]["config.yaml"], yaml.CSafeLoader)
    for name, entries in config["mig-configs"].items():
        for entry in entries:
            given = entry.get("device-filter", [])
            filters = [given] if isinstance(given, str) else given
            if entry.get("mig-enabled") and entry.get("mig-devices"):
                yield name, [f.upper() for f in filters], entry["mig-devices"]


OF_THE_OPERATOR = ("0400_configmap.yaml",)
OF_AN_EXAMPLE = ("mig-parted", "config.yaml")
"""Cuts an A100 with 40 GB, and names no device."""


@every(("gpu", "device"), DEVICES.items())
def test_layouts_that_upstream_names_for_a_device_are_legal_here(gpu, device):
    layouts = [
        s for _, filters, s in upstream_layouts(*OF_THE_OPERATOR) if device.upper() in filters
    ]
    assert layouts
    for slices in layouts:
        assert_legal(MIG_PRODUCTS[gpu], slices)


def test_layouts_of_the_example_are_legal_on_the_gpu_it_is_for():
    layouts = upstream_layouts(*OF_AN_EXAMPLE)
    assert len(layouts) == 10
    for _, filters, slices in layouts:
        assert filters == []
        assert_legal(MIG_PRODUCTS["A100-40"], slices)


def assert_legal(product, slices):
    assert {name for name in slices if product.profile(name)} == set(slices), "profiles we lack"
    assert place_profiles(product, slices) is not None, slices


def test_a_uniform_layout_of_upstream_holds_the_maximum_of_its_profile():
    counts = {
        (gpu, *slices): tuple(slices.values())
        for gpu, device in DEVICES.items()
        for name, filters, slices in upstream_layouts(*OF_THE_OPERATOR)
        if device.upper() in filters and len(slices) == 1 and name.startswith("all-")
    }
    assert {gpu for gpu, _ in counts} == {"A100-40", "A100-80", "H100", "H200", "GB300"}
    for (gpu, profile), (count,) in counts.items():
        assert MIG_PRODUCTS[gpu].profile(profile).max_count == count


# Every device id that upstream filters on, from the same map.
ALL_DEVICES = {
    "A100-40": "20B0 20B1 20F1 20F6",
    "A100-80": "20B2 20B5 20F3 20F5",
    "A30": "20B7",
    "H100": "2330 2331 2322 2324",
    "H100-94": "2321 233A",
    "H100-96": "2342 233D 2329 20B6",
    "H200": "2335 233B",
    "GH200-144": "2348",
    "B200": "2901",
    "GB200": "2941",
    "B300": "3182",
    "GB300": "31C2",
    "RTX6000": "2BB5",
}
PRODUCT_OF = {f"0X{i}10DE": gpu for gpu, ids in ALL_DEVICES.items() for i in ids.split()}

PCI_NOT_IN_THE_MAP = {
    "20BD": "A800 with 40 GB: cut like the A100 by its memory, absent from the map",
    "2BB1": "RTX PRO 6000 Workstation: the User Guide lists it, the map does not",
    "2BB4": "RTX PRO 6000 Max-Q: the same",
    "2C3A": "RTX PRO 4500: newer than the map, which mig-manager replaces by what the driver says",
    "232C": "H20 with 141 GB: cut like the H200 by its memory, absent from the map",
}


def test_upstream_cuts_a_gpu_of_that_device_id_as_we_do():
    for gpu in GPUS.values():
        if gpu.mig and gpu.pci_id and gpu.pci_id not in PCI_NOT_IN_THE_MAP:
            assert PRODUCT_OF[f"0X{gpu.pci_id}10DE"] == (gpu.partitioned_like or gpu.name)
        if not gpu.mig:
            assert f"0X{gpu.pci_id}10DE" not in PRODUCT_OF
    assert {g.pci_id for g in GPUS.values()} >= set(PCI_NOT_IN_THE_MAP)


NOT_UPSTREAM = {"1g.16gb", "2g.32gb"}
"""Profiles of the RTX PRO 4500, newer than the static layouts; the vGPU reference is their source."""
NOT_OURS = {
    "3g.95gb": "GB200 that reports 189 GB; we catalogue the 186 GB report of the same device id",
    "4g.95gb": "the same",
    "7g.189gb": "the same",
}
"""Profiles of upstream that no product of ours has, with the reason."""


def fits(layout):
    """Products that can be cut so; of one profile alone, only those whose maximum that is."""
    for gpu, product in MIG_PRODUCTS.items():
        profiles = [product.profile(name) for name in layout]
        if None in profiles or place_profiles(product, layout) is None:
            continue
        if len(layout) > 1 or profiles[0].max_count == next(iter(layout.values())):
            yield gpu


@pytest.mark.parametrize("where", [("0400_configmap.yaml",), ("mig-parted", "config.yaml")])
def test_every_profile_and_count_of_upstream_is_ours(where):
    unknown, wrong = set(), []
    for name, filters, layout in upstream_layouts(*where):
        unknown |= set(filters) - set(PRODUCT_OF)
        can = set(fits(layout))
        wanted = {PRODUCT_OF[f] for f in filters if f in PRODUCT_OF}
        if not set(layout) & set(NOT_OURS) and not (wanted <= can if filters else can):
            wrong.append((name, layout, "upstream cuts", sorted(wanted), "we can", sorted(can)))
    assert (unknown, wrong) == (set(), [])


def test_every_base_profile_of_ours_is_named_upstream():
    named = {p for _, _, layout in upstream_layouts("0400_configmap.yaml") for p in layout}
    ours = {p.name for m in MIG_PRODUCTS.values() for p in m.profiles if not p.variant}
    assert ours - named == NOT_UPSTREAM
    bases = {p for p in named if not any(mark in p for mark in ("+", "-"))}
    assert {p for p in bases - ours if p not in NOT_OURS} == set()
