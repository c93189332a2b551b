"""Where each check of a GPU at work turns, and what it says when there is nothing to say."""

from dataclasses import replace

from gpuyard_validator.checks import CHECKS
from gpuyard_validator.load.record import Load
from gpuyard_validator.results import Code, Status
from gpuyard_validator.run import validate
from gpuyard_validator.values import Missing, MissingReason
from kit.cases.faults import LOAD_EDGES, drawn, loaded, rated, told, unshared
from kit.cases.hardware import altered, expected, machine, uuid
from kit.every import every

PASS, FAIL, SKIP = Status.PASS, Status.FAIL, Status.SKIP
LOADS = {name: check for name, check in CHECKS.items() if name.startswith("work.")}


def evidence(check, card, seen, **more):
    """The gravest that the check says."""
    found = validate(expected(card, **more), seen, {check: CHECKS[check]}).results
    return max((r.evidence for r in found), key=lambda e: list(Status).index(e.status))


@every("check, card, good, bad, status", LOAD_EDGES)
def test_a_gpu_at_work_is_judged_on_either_side_of_its_limit(check, card, good, bad, status):
    assert evidence(check, card, good(machine(card))).status is PASS
    assert evidence(check, card, bad(machine(card))).status is status


@every("name", LOADS)
def test_without_a_load_no_check_of_one_has_run_and_required_that_fails(name):
    for why in (MissingReason.UNASKED, MissingReason.NO_LIBRARY):
        seen = machine("B200-loaded")
        for n in range(8):
            seen = altered(seen, n, load=Missing(why, "libcuda.so.1: no such file"))
        report = validate(expected("B200-loaded"), seen, {name: CHECKS[name]})
        assert {r.evidence.status for r in report.results} == {SKIP}
        assert report.code is Code.FAILED
        assert f"({why}: libcuda.so.1" in report.blocking_results[0].evidence.reason
        told_only = validate(expected("B200-loaded", required=False), seen, {name: CHECKS[name]})
        assert told_only.code is Code.NO_GPUS


@every("name", set(LOADS) - {"work.ran"})
def test_what_broke_is_told_once_and_nothing_of_it_is_passed(name):
    seen = machine("B200-loaded")
    for n in range(8):
        gpu = seen.gpus[n]
        seen = altered(seen, n, load=replace(gpu.load, ended="hung", output="product: …"))
    wanted = expected("B200-loaded")
    assert evidence(name, "B200-loaded", seen).status is SKIP
    both = validate(wanted, seen, {n: CHECKS[n] for n in ("work.ran", name)})
    assert {r.check for r in both.blocking_results} == {"work.ran"}
    assert validate(wanted, seen, {name: CHECKS[name]}).code is Code.FAILED, "alone it has not run"


def test_a_library_for_products_that_is_not_there_fails_products_alone():
    def without(m):
        load = m.gpus[1].load
        rates = tuple(r for r in load.rates if r.task not in ("product", "step"))
        return loaded(rates=rates, missing_library="cuBLAS not found: libcublas.so.13")(m)

    seen = without(machine("B200-loaded"))
    report = validate(expected("B200-loaded"), seen, LOADS)
    assert {r.check for r in report.blocking_results} == {
        "work.product",
        "work.spread",
        "work.step",
    }
    said = "not run: the rate of product is unknown (no_library: cuBLAS not found: libcublas.so.13)"
    assert report.blocking_results[0].evidence.reason == said


def test_what_was_not_looked_at_is_not_passed():
    seen = machine("B200-loaded")
    none = loaded(seen=())(seen)
    for name in ("work.clocks", "work.temperature", "work.power", "work.errors", "work.pcie"):
        assert evidence(name, "B200-loaded", none).status is SKIP
    few = loaded(seen=tuple(s for s in seen.gpus[1].load.seen if s.task == "memory"))(seen)
    for name in ("work.clocks", "work.temperature", "work.power", "work.pcie"):
        found = evidence(name, "B200-loaded", few)
        assert found.reason == "not run: the GPU state under this load is unknown (unasked)"


def test_work_that_took_no_time_is_no_rate():
    found = evidence(
        "work.memory", "H100-loaded", rated("memory", seconds=0.0)(machine("H100-loaded"))
    )
    assert found.reason == "not run: the rate of memory is unknown (malformed: the time is zero)"


def test_a_rate_that_was_not_measured_is_not_passed():
    seen = machine("H100-loaded")
    empty = loaded(rates=())(seen)
    for name in ("work.memory", "work.to_device", "work.product", "work.spread"):
        assert evidence(name, "H100-loaded", empty).status is SKIP
    assert evidence("work.peers", "H100-loaded", empty).status is FAIL


BUS = ["to_host", "to_device"]
HELD = "none of 0xe8"
HOT = "the driver throttles clocks because of heat under load"
DOWN = "the hardware throttles clocks under load"
SLOW = "the GPU reaches its slowdown temperature under load"
ERRORS = "uncorrected errors appeared under load"
ROWS = "rows of memory were remapped under load"
LINK = "the PCIe link is slower than its slot under load"
LANES = "the PCIe link has fewer lanes than its slot under load"
OTHER = "the load ran on another GPU: one without a UUID"
WRONG = "wrong elements without an error: peers"
# A check, a fault; value, floor, unit and reason.
WORDS = [
    ("work.peers", rated("peers", 300.0, only=6), 300.0, 335, "GB/s", "to GPU 6: slower than other GPUs of this product"),
    ("work.peers", unshared, 6, 7, "GPUs", "no peer access to some of the other GPUs"),
    ("work.memory", rated("memory", 9.0), 9.0, 1905.0, "GB/s", "slower than other GPUs of this product"),
    ("work.results", rated("peers", wrong=2, only=6), 2, 0, "elements", WRONG),
    ("work.spread", rated("product", 7e5), 700.0, 703.0, "TFLOPS", "slower than the others: gpu 1 700"),
    ("work.clocks", told(["product"], reasons=0x24), "0x24", HELD, "", HOT),
    ("work.clocks", told(["product"], reasons=0x28), "0x28", HELD, "", DOWN),
    ("work.temperature", told(["product"], margin=-1), -1, 1, "°C to slowdown", SLOW),
    ("work.errors", told(["memory"], uncorrected=3, remapped=1), 3, 0, "errors", ERRORS),
    ("work.errors", told(["memory"], remapped=1), 1, 0, "errors", ROWS),
    ("work.pcie", told(BUS, pcie_generation=3), 3, 5, "generation", LINK),
    ("work.pcie", told(BUS, pcie_width=4), 4, 16, "lanes", LANES),
    ("work.ran", loaded(uuid=""), "", uuid(1), "", OTHER),
    ("work.ran", loaded(ended="hung", output="product: x"), "hung", "done", "", "hung: product: x"),
]  # fmt: skip


@every("check, fault, value, floor, unit, reason", WORDS)
def test_words_say_which_value_and_why(check, fault, value, floor, unit, reason):
    found = evidence(check, "H100-loaded", fault(machine("H100-loaded")))
    assert (found.value, found.threshold, found.unit, found.reason) == (value, floor, unit, reason)


def test_power_is_told_in_watts():
    found = evidence("work.power", "B200-loaded", drawn(500_400)(machine("B200-loaded")))
    assert (found.value, found.threshold, found.unit) == (500, 750, "W")
    assert found.reason == "the GPU draws less power than this load needs"


CUT = "its GPUs are partitioned or shared: the load of one share does not measure the GPU"
# A check, a machine, whether it is cut, and why the check does not apply.
NOT_THERE = [
    ("work.ran", "H100", False, "profile quick puts no load on GPUs"),
    ("work.memory", "A100-40", True, CUT),
    ("work.step", "H100-loaded", False, "only profile soak runs it"),
    ("work.peers", "T4-loaded", False, "its GPUs have no NVLink"),
    ("work.spread", "T4-loaded", False, "the node has only one GPU"),
]


@every("name, card, cut, why", NOT_THERE)
def test_when_no_load_applies_it_says_why(name, card, cut, why):
    wanted = expected(card, cut=cut, **({"profile": "full"} if cut else {}))
    (result,) = validate(wanted, machine(card, cut=cut), {name: CHECKS[name]}).results
    assert (result.evidence.reason, result.required) == (f"does not apply: {why}", False)


def test_what_needs_several_gpus_or_a_soak_applies_to_no_quick_run():
    for name in ("work.peers", "work.spread", "work.step", "work.power"):
        assert CHECKS[name].inapplicable_reason(expected("H100")).startswith("profile quick")
    assert CHECKS["work.peers"].inapplicable_reason(expected("H100-loaded", gpus=1))


def test_a_product_that_nobody_has_measured_is_told_its_rate_and_held_to_none():
    found = evidence("work.memory", "H100-loaded", machine("H100-loaded"), product="NVIDIA-NEW")
    assert (found.status, found.value, found.threshold) == (PASS, 2600.0, None)
    found = evidence("work.spread", "H100-loaded", machine("H100-loaded"), product="NVIDIA-NEW")
    assert found.status is PASS


def test_gpus_below_their_floor_are_no_measure_of_the_others():
    """All but one are slow: that one is no outlier, and the slow ones are told of by their own check."""
    seen = machine("H100-loaded")
    for n in range(7):
        gpu = seen.gpus[n]
        load: Load = gpu.load
        rates = tuple(replace(r, amount=5e14) if r.task == "product" else r for r in load.rates)
        seen = altered(seen, n, load=replace(load, rates=rates))
    report = validate(expected("H100-loaded"), seen, LOADS)
    assert {r.check for r in report.blocking_results} == {"work.product"}
    found = evidence("work.spread", "H100-loaded", seen)
    assert (found.status, found.source) == (SKIP, "work.product")


def test_two_gpus_are_compared_with_each_other():
    whole = machine("H100-loaded")
    two = replace(whole, gpus=whole.gpus[:2])
    for name in ("work.peers", "work.spread"):
        assert CHECKS[name].inapplicable_reason(expected("H100-loaded", gpus=2)) == ""
    assert evidence("work.spread", "H100-loaded", two, gpus=2).status is PASS
    slow = evidence("work.spread", "H100-loaded", rated("product", 610_000.0)(two), gpus=2)
    assert (slow.status, slow.source) == (Status.WARN, "0.95 of the node's median")
