"""Where each check turns: the last value that passes and the first that does not, from both sides."""

from dataclasses import replace

from gpuyard_validator.checks import CHECKS
from gpuyard_validator.checks.sharing import mig_profile_name
from gpuyard_validator.expectations import Network
from gpuyard_validator.results import Status
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import BAD_VARIABLES, Instance
from kit.cases.faults import ADAPTERS, NODE, OF_GPU, PROFILES, TOLD
from kit.cases.hardware import CARDS, SLICES, altered, expected, machine
from kit.every import every

PASS, WARN, FAIL = Status.PASS, Status.WARN, Status.FAIL


def outcome(check, wanted, seen):
    """The gravest that the check says of the machine."""
    found = validate(wanted, seen, {check: CHECKS[check]}).results
    return max((each.evidence.status for each in found), key=list(Status).index)


@every("check, card, good, bad, status", OF_GPU)
def test_a_gpu_is_judged_on_either_side_of_its_limit(check, card, good, bad, status):
    seen, wanted = machine(card), expected(card)
    assert outcome(check, wanted, altered(seen, **good)) is PASS
    assert outcome(check, wanted, altered(seen, **bad)) is status


@every("check, good, bad, status", NODE)
def test_a_node_is_judged_on_either_side_of_its_limit(check, good, bad, status):
    seen, wanted = machine("H100"), expected("H100")
    assert outcome(check, wanted, replace(seen, **good)) is PASS
    assert outcome(check, wanted, replace(seen, **bad)) is status


@every("name", CARDS)
def test_one_gpu_more_or_less_is_another_machine(name):
    seen = machine(name)
    assert outcome("gpu.count", expected(name), seen) is PASS
    assert outcome("gpu.count", expected(name), replace(seen, gpus=seen.gpus[1:])) is FAIL
    more = replace(seen, gpus=(*seen.gpus, replace(seen.gpus[0], index=99)))
    assert outcome("gpu.count", expected(name), more) is FAIL
    assert outcome("gpu.identity", expected(name), more) is FAIL, "and it has a UUID twice"


@every("check, network, status", ADAPTERS)
def test_adapters_are_counted_by_kind_name_and_rate(check, network, status):
    asked = Network(
        **{"kind": "infiniband", "devices": 8, "names": (), "gbps_per_device": 400.0, **network}
    )
    assert outcome(check, expected("H200", network=asked), machine("H200")) is status


def test_a_port_that_is_not_asked_for_may_be_down():
    seen = machine("H200")
    down = replace(seen, adapters=(replace(seen.adapters[0], active=False), *seen.adapters[1:]))
    rest = tuple(each.name for each in seen.adapters[1:])
    asked = Network(kind="infiniband", devices=7, names=rest, gbps_per_device=400.0)
    assert outcome("rdma.ports", expected("H200"), down) is FAIL
    assert outcome("rdma.ports", expected("H200", network=asked), down) is PASS


@every("name", BAD_VARIABLES)
def test_each_bad_variable_is_noticed_alone(name):
    seen = replace(machine("T4"), environment={"PATH": "/bin", name: "0"})
    (result,) = validate(
        expected("T4"), seen, {"host.environment": CHECKS["host.environment"]}
    ).results
    assert (result.evidence.status, result.evidence.value) == (WARN, [name])


@every("slices, total, name", PROFILES)
def test_an_instance_has_the_name_that_nvidia_gives_it(slices, total, name):
    gpu_slices, compute, mib = slices
    made = Instance(gpu_slices=gpu_slices, compute_slices=compute, memory_mib=mib)
    assert mig_profile_name(made, total) == name


def test_the_number_of_each_slice_counts_and_media_variants_do_not():
    wanted, seen = expected("A100-40", cut=True), machine("A100-40", cut=True)
    small, large = SLICES["1g.5gb"], SLICES["3g.20gb"]
    planned = seen.gpus[1].instances
    for instances in (planned[1:], (*planned, small), (large,), (small,) * len(planned)):
        assert outcome("mig.geometry", wanted, altered(seen, instances=instances)) is FAIL
    assert outcome("mig.geometry", wanted, altered(seen, instances=planned[::-1])) is PASS
    layout = wanted.layouts[0]
    media = replace(layout, counts={"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1, "1g.5gb+me": 1})
    assert outcome("mig.geometry", replace(wanted, layouts=(media,)), seen) is PASS


def test_gpus_that_no_layout_names_stay_whole():
    wanted, seen = expected("A100-40", cut=True), machine("A100-40", cut=True)
    half = replace(wanted, layouts=(replace(wanted.layouts[0], gpus=(0, 1, 2, 3)),))
    assert outcome("mig.mode", half, seen) is FAIL
    whole = machine("A100-40").gpus
    mixed = replace(seen, gpus=(*seen.gpus[:4], *whole[4:]))
    assert outcome("mig.mode", half, mixed) is PASS
    assert outcome("mig.geometry", half, mixed) is PASS
    assert outcome("mig.mode", wanted, mixed) is FAIL


@every("card, fault, told", TOLD)
def test_value_floor_unit_and_reason_are_told(card, fault, told):
    seen = altered(machine(card), **fault)
    report = validate(expected(card), seen, {told[0]: CHECKS[told[0]]})
    (bad,) = [r.evidence for r in report.results if r.evidence.status in (WARN, FAIL)]
    assert (bad.value, bad.threshold, bad.unit, bad.reason) == told[1:]


def reason(check, wanted, seen):
    (bad,) = [r.evidence for r in validate(wanted, seen, {check: CHECKS[check]}).results]
    return bad.reason


def test_what_is_told_of_the_whole_node():
    seen, wanted = machine("H200"), expected("H200")
    slow = tuple(replace(each, gbps=200.0) for each in seen.adapters)
    first = replace(seen.adapters[0], active=False)
    down = reason("rdma.ports", wanted, replace(seen, adapters=(first, *slow[1:])))
    assert down == "infiniband_0 is down, " + ", ".join(
        f"infiniband_{n} runs at 200 Gb/s" for n in range(1, 8)
    )
    more = tuple(replace(first, name=f"infiniband_{n}") for n in range(9))
    assert "infiniband_8" not in reason("rdma.ports", wanted, replace(seen, adapters=more))
    assert reason("rdma.devices", wanted, replace(seen, adapters=())) == "0 of 8 infiniband devices"
    assert reason("gpu.count", wanted, replace(seen, gpus=())) == "0 GPUs, expected 8"
    mixed = reason("firmware.same", wanted, altered(seen, vbios="1", inforom_image="2"))
    assert mixed == "mixed vbios: 1, 96.00.A5.00.01; inforom_image: 2, G520.0200.00.05"


def test_what_is_told_of_slices():
    wanted, seen = expected("A100-40", cut=True), machine("A100-40", cut=True)
    for instances, said in (((), "nothing"), ((SLICES["1g.5gb"],) * 2, "2 × 1g.5gb")):
        bare = altered(replace(seen, gpus=seen.gpus[:1]), 0, instances=instances)
        planned = "2 × 1g.5gb, 1 × 2g.10gb, 1 × 3g.20gb"
        told = f"the GPU has slices {said}, planned: {planned}"
        assert reason("mig.geometry", wanted, bare) == told
    whole = altered(replace(seen, gpus=seen.gpus[:1]), 0, mig_current=False, mig_pending=False)
    assert reason("mig.mode", wanted, whole) == "MIG is off"


@every("gpus, links", [(1, False), (2, True), (7, True), (8, True)])
def test_links_join_two_gpus_and_a_fabric_eight(gpus, links):
    wanted = expected("H100", gpus=gpus)
    assert bool(CHECKS["nvlink.links"].inapplicable_reason(wanted)) is not links
    assert bool(CHECKS["nvlink.peers"].inapplicable_reason(wanted)) is not links
    assert bool(CHECKS["fabric.state"].inapplicable_reason(wanted)) is not (gpus == 8)
    rack = expected("GB200", gpus=gpus)
    assert bool(CHECKS["fabric.state"].inapplicable_reason(rack)) is not links, (
        "a rack has a fabric at any size"
    )
