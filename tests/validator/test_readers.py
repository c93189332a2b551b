"""What others make of a report: the kubelet, CI, Prometheus; and expectations of real stack files judged."""

import json
import re
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree as ET

import sizes
from gpuyard_validator.checks import CHECKS
from gpuyard_validator.expectations import read_expectations
from gpuyard_validator.report import DIGEST_BYTES, as_json, as_junit, as_prometheus, report_summary
from gpuyard_validator.results import Code, Status
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import Adapter, snapshot_json
from kit.cases.faults import FAULTS
from kit.cases.hardware import CARDS, LOADED, SLICES, expected, gpu, machine
from kit.every import every

GOLDEN = sizes.ROOT / "tests" / "render" / "golden" / "expectations.json"
EXPECTED = json.loads(GOLDEN.read_text(encoding="utf-8"))
DRIVERS = {
    "efa": ("efa", "unspecified"),
    "infiniband": ("mlx5_core", "InfiniBand"),
    "roce": ("mlx5_core", "Ethernet"),
}
ROUNDED = re.compile(r"^(?P<name>[a-z_]+)\{(?P<labels>[^}]*)\} (?P<value>[0-9]+)$")
LABEL = re.compile(r'([a-z]+)="((?:[^"\\\n]|\\["\\n])*)"')


@cache
def broken(row):
    fault = FAULTS[row]
    check, (name, cut), turn, *_ = fault
    return check, validate(expected(name, cut=cut), turn(machine(name, cut=cut)))


@every("fault", range(len(FAULTS)))
def test_the_digest_of_every_fault_fits_and_says_the_verdict_first(fault):
    check, report = broken(fault)
    said = report_summary(report)
    head, *lines = said.splitlines()
    assert len(said.encode()) <= DIGEST_BYTES
    assert head.startswith(f"{report.verdict}: node node-1, pool train: ")
    (line,) = [each for each in lines if f" {check} on " in each]
    found = next(r for r in report.results if r.check == check and r.evidence.reason)
    assert f"; value {found.evidence.value}, threshold {found.evidence.threshold}" in line
    assert line.endswith(f"needs: {found.evidence.action}")


@every("fault", range(len(FAULTS)))
def test_junit_counts_what_the_report_counts(fault):
    check, report = broken(fault)
    suite = ET.fromstring(as_junit(report))  # noqa: S314  our own
    cases = suite.findall("testcase")
    assert suite.tag == "testsuite"
    assert int(suite.get("tests")) == len(cases) == len(report.results)
    for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert len(suite.findall(f"testcase/{kind}")) == int(suite.get(attribute))
    failed = {case.get("classname") for case in cases if case.find("failure") is not None}
    assert failed == ({check} if report.code is Code.FAILED else set())
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(set(names)) == len(names), "a case is told from every other"


def scraped(text):
    """The samples of a text as the format is written down: HELP and TYPE first, no sample twice."""
    assert text.endswith("\n")
    found, typed = {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            assert line.split(" ", 3)[3]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in typed, "a metric has one TYPE, before its samples"
            typed[name] = kind
        else:
            match = ROUNDED.match(line)
            assert match, line
            labels = LABEL.findall(match["labels"])
            assert ",".join(f'{k}="{v}"' for k, v in labels) == match["labels"]
            assert typed[match["name"]] == "gauge"
            key = (match["name"], frozenset(labels))
            assert key not in found, "a sample comes once"
            found[key] = int(match["value"])
    return found


@every("fault", range(len(FAULTS)))
def test_prometheus_text_has_every_result_once(fault):
    check, report = broken(fault)
    found = scraped(as_prometheus(report, 1700000000.4))
    status = {labels: value for (name, labels), value in found.items() if name.endswith("_status")}
    assert len(status) == len(report.results)
    worst = max(value for labels, value in status.items() if ("check", check) in labels)
    wrong = next(
        r.evidence.status for r in report.results if r.check == check and r.evidence.reason
    )
    assert worst == {Status.WARN: 1, Status.FAIL: 2}[wrong]
    passed = {value for (name, _), value in found.items() if name == "gpu_validation_passed"}
    assert passed == {int(report.code is Code.PASSED)}
    times = {value for (name, _), value in found.items() if name.endswith("_seconds")}
    assert times == {1700000000}


def test_names_of_nodes_with_any_sign_can_be_read():
    odd = replace(machine("T4"), node='a"b\\c\nd]]>é<&')
    report = validate(expected("T4"), odd)
    assert ET.fromstring(as_junit(report)).tag == "testsuite"  # noqa: S314  our own
    assert len(scraped(as_prometheus(report, 0))) == len(report.results) + 2
    assert json.loads(as_json(report))["node"] == odd.node
    assert report_summary(report).count("\n") == 1, "a name breaks no line"


def test_json_says_of_every_fault_what_the_report_says():
    for fault in range(len(FAULTS)):
        check, report = broken(fault)
        found = json.loads(as_json(report))
        assert (found["verdict"], found["exit_code"]) == (report.verdict, int(report.code))
        assert sum(found["counts"].values()) == len(found["checks"]) == len(report.results)
        wrong = {c["id"] for c in found["checks"] if c["status"] in ("warn", "fail")}
        assert wrong == {check}
        assert as_json(report).count("\n") == 1


def healthy(wanted):
    """A machine that is what a plan expects, made of the card that it names; None without one."""
    card = next((name for name, each in CARDS.items() if each.product == wanted.product), None)
    if card is None:
        return None
    driver, link = DRIVERS[wanted.network.kind] if wanted.network else ("", "")
    network = wanted.network
    count = network.devices if network else 0
    names = (network.names if network else ()) or [f"a{n}" for n in range(count)]
    rate = (network.gbps_per_device if network else None) or 100.0
    return replace(
        machine("GB200" if wanted.rack else "T4"),
        gpus=tuple(healthy_gpu(card, index, wanted) for index in range(wanted.gpus)),
        driver=wanted.driver or "580.105.08",
        kernel_driver=wanted.driver or "580.105.08",
        adapters=tuple(
            Adapter(name=name, driver=driver, active=True, link=link, gbps=rate) for name in names
        ),
    )


def healthy_gpu(card, index, wanted):
    counts = next((each.counts for each in wanted.layouts if index in each.gpus), {})
    made = gpu(card, index, cut=False)
    if not counts:
        return made
    slices = tuple(SLICES[name] for name, count in counts.items() for _ in range(count))
    return replace(made, mig_current=True, mig_pending=True, instances=slices)


def test_expectations_of_every_stack_file_are_met_by_a_healthy_machine_and_by_no_other():
    judged, unknown = 0, set()
    for name, raw in EXPECTED.items():
        wanted = read_expectations(json.dumps(raw))
        sound = healthy(wanted)
        if sound is None:
            unknown.add(wanted.product)
            continue
        report = validate(wanted, sound)
        assert report.code is Code.PASSED, (name, report_summary(report))
        assert not [r for r in report.results if r.evidence.status is Status.WARN], name
        less = replace(wanted, required=True)
        for broken_one in (
            replace(sound, gpus=sound.gpus[1:]),
            replace(sound, gpus=(replace(sound.gpus[0], ecc_current=False), *sound.gpus[1:])),
            replace(sound, gpus=(replace(sound.gpus[0], name="Tesla K80"), *sound.gpus[1:])),
        ):
            assert validate(less, broken_one).code is Code.FAILED, name
        judged += 1
    assert judged >= len(EXPECTED) - 2
    assert unknown <= {"NVIDIA-A10G"}


@every("name", CARDS.keys() - LOADED)
def test_a_recorded_machine_says_what_no_other_product_is(name):
    """Each of the ten is taken for itself alone: the expectations of any other refuse it."""
    for other in CARDS.keys() - LOADED:
        found = validate(expected(other, network=None), machine(name))
        assert (found.code is Code.PASSED) is (other == name), other
    assert json.loads(snapshot_json(machine(name)))["source"].startswith(name)


def test_every_check_is_in_every_report():
    for name in CARDS:
        report = validate(expected(name), machine(name))
        assert {r.check for r in report.results} == set(CHECKS)
