"""Each check has a machine that passes it, and a fault that it alone notices."""

from dataclasses import replace

from gpuyard_validator.checks import CHECKS
from gpuyard_validator.expectations import Network
from gpuyard_validator.results import Code, Evidence, Status
from gpuyard_validator.run import validate
from gpuyard_validator.values import Missing, MissingReason, encode
from kit.cases.faults import CUT, FAULTS, H100, T4, T4_LOADED
from kit.cases.hardware import CARDS, CUTS, altered, expected, machine
from kit.every import every

FAIL, WARN = Status.FAIL, Status.WARN
ALL = [(name, False) for name in CARDS] + [(name, True) for name in CUTS]


def not_passed(report):
    """Every check with what it said, but what does not apply and what waits for a GPU that is silent."""
    return {
        r.check: r.evidence
        for r in report.results
        if r.evidence.status is not Status.PASS and (r.counts_against or r.evidence.status is WARN)
    }


@every("which", ALL)
def test_a_healthy_machine_passes_every_check(which):
    name, cut = which
    report = validate(expected(name, cut=cut), machine(name, cut=cut))
    assert not_passed(report) == {}
    assert (report.code, report.verdict) == (Code.PASSED, "passed")
    ran = {r.check for r in report.results if r.evidence.status is Status.PASS}
    applies = {
        n for n, check in CHECKS.items() if not check.inapplicable_reason(expected(name, cut=cut))
    }
    assert ran == applies, "what applies to a healthy machine is run, not left out"


@every("check, which, fault, status, action", FAULTS)
def test_a_fault_is_noticed_by_its_check_alone(check, which, fault, status, action):
    name, cut = which
    wanted, broken = expected(name, cut=cut), fault(machine(name, cut=cut))
    assert broken != machine(name, cut=cut)
    report = validate(wanted, broken)
    found = not_passed(report)
    assert list(found) == [check]
    assert (found[check].status, found[check].action) == (status, action)
    assert found[check].reason
    assert found[check].source
    assert found[check].threshold is not None
    assert report.code is (Code.FAILED if status is FAIL else Code.PASSED)


def test_every_check_has_a_fault_and_a_machine():
    assert {check for check, *_ in FAULTS} == set(CHECKS)


def passing(*_):
    return Evidence(status=Status.PASS, value=1, threshold=1, source="nobody")


def failing(*_):
    return Evidence(status=Status.FAIL, value=1, threshold=1, source="nobody", reason="always")


def spoilt(check):
    """The check in three kinds of broken: it always passes, always fails, never applies."""
    yield "passes", replace(check, judge=passing)
    yield "fails", replace(check, judge=failing)
    yield "never applies", replace(check, inapplicable_reason=lambda _: "no")


@every("name", CHECKS)
def test_a_check_that_is_spoilt_is_noticed_by_the_table(name):
    """What was not run must not look like what was run, so each kind shows on a machine of the table."""
    _, (card, cut), fault, status, _ = next(row for row in FAULTS if row[0] == name)
    wanted, healthy = expected(card, cut=cut), machine(card, cut=cut)
    for kind, broken in spoilt(CHECKS[name]):
        checks = {**CHECKS, name: broken}
        of_fault = not_passed(validate(wanted, fault(healthy), checks)).get(name)
        of_healthy = not_passed(validate(wanted, healthy, checks)).get(name)
        seen_right = of_fault is not None and of_fault.status is status and of_healthy is None
        assert not seen_right, f"{name} that {kind} is not noticed"


UNREAD = {"numa", "serial", "sram_threshold"}
"""Serial and NUMA node are for the record; older drivers count SRAM errors and have no threshold for them."""


@every("why", [MissingReason.UNASKED, MissingReason.NOT_SUPPORTED])
def test_what_a_machine_does_not_say_is_never_passed(why):
    """Every answer of one GPU goes missing, one at a time: the checks that read it have then not run."""
    fields = encode(machine("T4").gpus[0]).keys() - {"index", "answers"}
    read = set()
    for name, cut in (H100, T4, CUT, T4_LOADED):
        whole, wanted = machine(name, cut=cut), expected(name, cut=cut)
        before = validate(wanted, whole).results
        for field in fields:
            if isinstance(getattr(whole.gpus[-1], field), Missing):
                continue
            after = validate(wanted, altered(whole, 9, **{field: Missing(why)})).results
            changed = [
                r for r, was in zip(after, before, strict=True) if r.evidence != was.evidence
            ]
            assert all(r.evidence.status is Status.SKIP for r in changed), field
            assert all(r.counts_against is r.required for r in changed)
            read |= {field} if changed else set()
    assert read == fields - UNREAD


def test_a_required_check_that_was_not_run_fails_and_one_that_is_not_does_not():
    silent = altered(machine("H100"), power_limit_mw=Missing(MissingReason.NO_PERMISSION))
    report = validate(expected("H100"), silent)
    assert [(r.check, r.scope) for r in report.blocking_results] == [("power.limit", "gpu 1")]
    assert report.code is Code.FAILED
    assert validate(expected("H100", required=False), silent).code is Code.PASSED
    old = altered(machine("H100"), recovery_action=Missing(MissingReason.NO_FUNCTION))
    assert validate(expected("H100"), old).code is Code.PASSED, "older drivers have no such field"


def test_without_gpus_and_with_checks_that_do_not_apply():
    nothing = replace(machine("T4"), gpus=())
    report = validate(expected("T4"), nothing)
    assert report.code is Code.FAILED
    assert {r.check for r in report.blocking_results} >= {"gpu.count", "gpu.answers", "ecc.mode"}
    only = {"fabric.domain": CHECKS["fabric.domain"]}
    assert validate(expected("T4"), machine("T4"), only).code is Code.FAILED
    report = validate(expected("T4", required=False), machine("T4"), only)
    assert (report.code, report.verdict) == (Code.NO_GPUS, "nothing checked")


def test_a_check_that_breaks_down_is_an_error_and_hides_no_other():
    def broken(*_):
        raise ZeroDivisionError("oh")

    checks = {**CHECKS, "ecc.mode": replace(CHECKS["ecc.mode"], judge=broken)}
    report = validate(expected("T4"), machine("T4"), checks)
    (bad,) = report.blocking_results
    assert bad.evidence.status is Status.ERROR
    assert "ZeroDivisionError: oh" in bad.evidence.reason
    assert report.code is Code.FAILED


def test_what_the_plan_leaves_open_is_not_asked():
    unknown = expected("T4", driver=None, pci_id=None)
    report = validate(unknown, altered(machine("T4"), pci_id=Missing(MissingReason.UNASKED)))
    assert report.code is Code.PASSED
    assert {r.evidence.status for r in report.results if r.check == "driver.version"} == {
        Status.SKIP
    }
    mps = validate(expected("T4", sharing="mps"), altered(machine("T4"), compute_mode=3))
    assert mps.code is Code.PASSED


def test_named_adapters_are_looked_for_by_name():
    network = Network(
        kind="infiniband", devices=2, names=("infiniband_0", "mlx5_9"), gbps_per_device=None
    )
    report = validate(expected("H200", network=network), machine("H200"))
    assert [r.check for r in report.blocking_results] == ["rdma.devices"]
    assert "missing mlx5_9" in report.blocking_results[0].evidence.reason


def test_a_peer_memory_module_does_what_the_open_module_does():
    closed = replace(machine("H100"), open_modules=False, modules=("nvidia", "nvidia_peermem"))
    assert validate(expected("H100"), closed).code is Code.PASSED


def test_joined_without_a_switch_or_at_an_unknown_rate():
    four = replace(machine("H100"), gpus=machine("H100").gpus[:4])
    report = validate(expected("H100", gpus=4), four)
    assert report.code is Code.PASSED
    skipped = {r.check for r in report.results if r.evidence.status is Status.SKIP}
    assert "fabric.state" in skipped
    strange = validate(expected("H100", architecture="Rubin"), machine("H100"))
    (link,) = [r for r in strange.results if r.check == "nvlink.links"]
    assert "NVLink rate of Rubin" in link.evidence.reason


def test_lanes_of_a_healthy_cloud_node_are_no_fault():
    """A T4 and an L40S of EC2 run on 8 of 16 lanes; `current < maximum` would fail them all."""
    for name in ("T4", "L40S"):
        assert machine(name).gpus[0].pcie_width == 8
        assert validate(expected(name), machine(name)).code is Code.PASSED


def test_slices_are_named_as_the_catalogue_names_them():
    for name, cut in CUTS.items():
        found = validate(expected(name, cut=True), machine(name, cut=True))
        seen = [r.evidence.value for r in found.results if r.check == "mig.geometry"]
        assert seen == [dict(sorted(cut.items()))] * CARDS[name].gpus
