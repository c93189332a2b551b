"""The fake mig-manager's steps and its reading of mig-parted files."""

import pytest

from gpuyard.catalogue.machines import MACHINES
from gpuyard.catalogue.mig import MIG_PRODUCTS
from gpuyard.simulate.agents.gpu_operator import MountedConfig
from gpuyard.simulate.agents.hardware import Hardware, fits
from gpuyard.simulate.agents.mig_manager import (
    CONFIG_LABEL,
    STATE_LABEL,
    Impossible,
    MigStep,
    generated,
    next_step,
    parse,
    plan_layout,
)

WHOLE = Hardware(MACHINES["p4d.24xlarge"], (None,) * 8)
FILE = """
version: v1
mig-configs:
  all-off: [{devices: all, mig-enabled: false}]
  sevenths: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]
  halves:
  - {devices: [0, 1], mig-enabled: true, mig-devices: {3g.20gb: 2}}
  - {devices: [2, 3, 4, 5, 6, 7], mig-enabled: false}
  impossible: [{devices: all, mig-enabled: true, mig-devices: {4g.20gb: 2}}]
"""
SOURCE = MountedConfig("gpuyard-mig-parted", {"config.yaml": FILE}, "all-off")


def step(
    config: str | None, state: str | None = None, applied: str | None = None, **options
) -> MigStep | None:
    labels = {CONFIG_LABEL: config, STATE_LABEL: state}
    given = {key: value for key, value in labels.items() if value is not None}
    return next_step(
        given, applied, options.pop("hardware", WHOLE), options.pop("source", SOURCE), **options
    )


def test_a_new_label_makes_the_state_pending():
    assert step("sevenths") == MigStep("sevenths", "pending")
    assert step("sevenths", "success", "all-off") == MigStep("sevenths", "pending")


def test_a_pending_node_is_cut():
    assert step("sevenths", "pending", "sevenths") == MigStep(
        "sevenths", "success", ({"1g.5gb": 7},) * 8
    )


@pytest.mark.parametrize("state", ["success", "failed"])
def test_a_finished_node_is_left_alone(state: str):
    assert step("sevenths", state, "sevenths") is None


def test_a_node_without_a_label_gets_the_operators_default():
    assert step(None) == MigStep("all-off", "pending")
    assert step(None, source=MountedConfig("gpuyard-mig-parted", {"config.yaml": FILE})) is None


def test_a_manager_whose_file_does_not_exist_waits():
    assert step("sevenths", source=MountedConfig("gpuyard-mig-parted", None, "all-off")) is None


def test_there_is_no_manager_where_nothing_can_be_cut():
    assert step("sevenths", hardware=Hardware(MACHINES["g6.12xlarge"], (None,) * 4)) is None


def test_gpus_in_use_are_not_cut():
    assert step("sevenths", "pending", "sevenths", gpu_pods=2) == MigStep(
        "sevenths", "failed", reason="2 pods on this node use its GPUs; drain it first"
    )
    assert step("all-off", "pending", "all-off", gpu_pods=2) == MigStep(
        "all-off", "success", (None,) * 8
    )


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ("nowhere", "no configuration 'nowhere'; there are all-off, halves, impossible, sevenths"),
        ("impossible", "A100-40 cannot be cut into 2 × 4g.20gb"),
    ],
)
def test_a_configuration_that_cannot_be_applied_fails_with_its_reason(config: str, reason: str):
    assert step(config, "pending", config) == MigStep(config, "failed", reason=reason)


def test_gpus_may_be_cut_differently():
    assert plan_layout("halves", WHOLE, SOURCE) == ({"3g.20gb": 2},) * 2 + (None,) * 6


def test_gpus_no_entry_speaks_of_stay_as_they_are():
    text = "version: v1\nmig-configs: {one: [{devices: [7], mig-enabled: true, mig-devices: {}}]}"
    assert plan_layout("one", WHOLE, MountedConfig("x", {"config.yaml": text})) == (None,) * 7 + (
        {},
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the file is no mig-parted configuration"),
        ("- a", "the file is no mig-parted configuration"),
        ("{", "the file is no mig-parted configuration"),
        ("version: v2\nmig-configs: {}", "the file must have `version: v1`"),
        ("version: v1\nmig-configs: {}\nextra: 1", "`mig-configs` and nothing else"),
        ("version: v1\nmig-configs: {a: [{device: all}]}", "configuration a: unknown key device"),
    ],
)
def test_a_file_that_mig_parted_would_refuse_is_refused(text: str, reason: str):
    with pytest.raises(Impossible, match=reason):
        parse(text)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            "{devices: none, mig-enabled: false}",
            "devices must be `all` or numbers up to 7, not 'none'",
        ),
        ("{devices: [8], mig-enabled: false}", "devices must be `all` or numbers up to 7"),
        (
            "{devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}}",
            "mig-devices with mig-enabled false",
        ),
        (
            "{devices: all, mig-enabled: true, mig-devices: [1g.5gb]}",
            "mig-devices must count instances",
        ),
        (
            "{devices: all, device-filter: '0x20B010DE', mig-enabled: false}",
            "device-filter names PCI ids",
        ),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(entry: str, reason: str):
    text = f"version: v1\nmig-configs: {{a: [{entry}]}}"
    with pytest.raises(Impossible, match=reason):
        plan_layout("a", WHOLE, MountedConfig("x", {"config.yaml": text}))


@pytest.mark.parametrize("gpu", MIG_PRODUCTS)
def test_what_is_generated_without_a_file_can_be_applied(gpu: str):
    product = MIG_PRODUCTS[gpu]
    for name, entries in generated(product).items():
        for entry in entries:
            assert fits(product, entry.get("mig-devices", {})), name


def test_a_machine_without_such_gpus_has_no_layout():
    with pytest.raises(Impossible, match=r"g6\.12xlarge has no GPU that can be cut"):
        plan_layout("all-off", Hardware(MACHINES["g6.12xlarge"], (None,) * 4), SOURCE)
