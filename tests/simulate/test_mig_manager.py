"""The fake mig-manager's steps and its reading of mig-parted files."""

import pytest

from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_simulate.agents.gpu_operator import MountedConfig
from gpuyard_simulate.agents.hardware import Hardware, fits
from gpuyard_simulate.agents.mig_manager import (
    APPLIED,
    BROKEN,
    CONFIG_LABEL,
    STATE_LABEL,
    MigConfigError,
    MigStep,
    NodeMarks,
    clients,
    generate_mig_configs,
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
  all-halves: [{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 2}}]
  impossible: [{devices: all, mig-enabled: true, mig-devices: {4g.20gb: 2}}]
"""
SOURCE = MountedConfig("gpuyard-mig-parted", {"config.yaml": FILE}, "all-off")


def step(
    config: str | None, state: str | None = None, applied: str | None = None, **options
) -> MigStep | None:
    labels = {CONFIG_LABEL: config, STATE_LABEL: state}
    given = {key: value for key, value in labels.items() if value is not None}
    annotations = {APPLIED: applied} if applied else {}
    if broken := options.pop("broken", None):
        annotations[BROKEN] = broken
    marks = NodeMarks(given, annotations)
    return next_step(
        marks, options.pop("hardware", WHOLE), options.pop("source", SOURCE), **options
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
    assert step(None) == MigStep("all-off", "success", (None,) * 8)
    assert step(None, source=MountedConfig("gpuyard-mig-parted", {"config.yaml": FILE})) is None


def test_a_manager_whose_file_does_not_exist_waits():
    assert step("sevenths", source=MountedConfig("gpuyard-mig-parted", None, "all-off")) is None


def test_there_is_no_manager_where_nothing_can_be_cut():
    assert step("sevenths", hardware=Hardware(MACHINES["g6.12xlarge"], (None,) * 4)) is None


SEVENTHS = Hardware(MACHINES["p4d.24xlarge"], ({"1g.5gb": 7},) * 8)
IN_USE = "In use by another client: 2 pods on this node hold its GPUs"
CUT = ({"1g.5gb": 7},) * 8


@pytest.mark.parametrize(
    ("config", "state", "options", "found"),
    [
        # what is so already is touched by nobody
        ("all-off", None, {"gpu_pods": 2, "applied": None}, ("success", (None,) * 8, "")),
        ("sevenths", None, {"hardware": SEVENTHS, "applied": "all"}, ("success", CUT, "")),
        # a GPU that a pod holds is not cut, and stays as it is
        ("sevenths", "pending", {"gpu_pods": 2}, ("failed", None, IN_USE)),
        # another mode of MIG is worth a reboot, whoever runs there; other slices are not
        ("sevenths", "pending", {"gpu_pods": 2, "reboots": True}, ("rebooting", None, "")),
        (
            "all-halves",
            "pending",
            {"gpu_pods": 2, "reboots": True, "hardware": SEVENTHS},
            ("failed", None, IN_USE),
        ),
        ("sevenths", "pending", {"reboots": True}, ("success", CUT, "")),
        ("sevenths", "rebooting", {"gpu_pods": 2}, ("success", CUT, "")),
        # what a test injects
        ("sevenths", "pending", {"broken": "GPU 3 is lost"}, ("failed", None, "GPU 3 is lost")),
    ],
)
def test_what_becomes_of_gpus_in_use(config, state, options, found):
    applied = options.pop("applied", config)
    assert step(config, state, applied, **options) == MigStep(config, found[0], *found[1:])


def test_a_state_that_somebody_takes_away_starts_nothing():
    assert step("sevenths", None, "sevenths") is None


def test_a_configuration_that_is_gone_after_it_was_applied_is_not_missed():
    gone = MountedConfig("x", {"config.yaml": "version: v1\nmig-configs: {}"})
    assert step("sevenths", "success", "sevenths", source=gone) is None
    assert step("sevenths", "success", "halves", source=gone).state == "failed"


@pytest.mark.parametrize(
    ("state", "before", "after"),
    [
        ("pending", {}, "paused-for-mig-change"),
        ("rebooting", {"nvidia.com/gpu.deploy.dcgm": "paused-for-mig-change"}, None),
        ("success", {"nvidia.com/gpu.deploy.dcgm": "paused-for-mig-change"}, "true"),
        ("failed", {"nvidia.com/gpu.deploy.dcgm": "true"}, None),
        ("pending", {"nvidia.com/gpu.deploy.dcgm": "false"}, None),
    ],
)
def test_the_operators_own_clients_are_stopped_meanwhile(state, before, after):
    assert clients(state, before).get("nvidia.com/gpu.deploy.dcgm") == after


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (
            "nowhere",
            "no configuration 'nowhere'; available: all-halves, all-off, halves, impossible, sevenths",
        ),
        ("impossible", "A100-40 cannot be partitioned into 2 × 4g.20gb"),
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
        ("", "the file is not a mig-parted configuration"),
        ("- a", "the file is not a mig-parted configuration"),
        ("{", "the file is not a mig-parted configuration"),
        ("version: v2\nmig-configs: {}", "the file must have `version: v1`"),
        ("version: v1\nmig-configs: {}\nextra: 1", "`mig-configs` and nothing else"),
        ("version: v1\nmig-configs: {a: [{device: all}]}", "configuration a: unknown key device"),
    ],
)
def test_a_file_that_mig_parted_would_refuse_is_refused(text: str, reason: str):
    with pytest.raises(MigConfigError, match=reason):
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
    with pytest.raises(MigConfigError, match=reason):
        plan_layout("a", WHOLE, MountedConfig("x", {"config.yaml": text}))


@pytest.mark.parametrize("gpu", MIG_PRODUCTS)
def test_what_is_generated_without_a_file_can_be_applied(gpu: str):
    product = MIG_PRODUCTS[gpu]
    for name, entries in generate_mig_configs(product).items():
        for entry in entries:
            assert fits(product, entry.get("mig-devices", {})), name


def test_a_machine_without_such_gpus_has_no_layout():
    with pytest.raises(MigConfigError, match=r"g6\.12xlarge has no GPU that supports MIG"):
        plan_layout("all-off", Hardware(MACHINES["g6.12xlarge"], (None,) * 4), SOURCE)
