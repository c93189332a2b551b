"""Exactly one owner for each part of a node's GPU software, for any image, machine and sharing; or a finding.

Who acts on a node is counted from what nodes and the operator are told, not read from what the plan says of
it: two device plugins on a node hand out each GPU twice, and two drivers leave it with none.
"""

import itertools

import pytest

from gpuyard.plan import plan as judge
from gpuyard.plan.sharing.dra import installs_dra_driver
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.images import (
    DEPLOY_LABEL,
    IMAGES,
    ComponentOwner,
    SoftwarePart,
)
from gpuyard_core.findings import Severity
from kit.stacks import platform, pool, spec_of

OPERANDS = "nvidia.com/gpu.deploy.operands"
SHARING = ["none", {"time_slicing": 4}, {"mps": 4}, "mig", "mig and time_slicing", "dra"]


def sold(cloud):
    """One machine for each kind of GPU and of processor: what owners may depend on."""
    kinds = {}
    for machine in MACHINES.values():
        gpu = machine.gpu
        if gpu is not None and machine.cloud == cloud:
            kinds.setdefault((gpu.architecture, gpu.mig is not None, machine.arch), machine.name)
    return sorted(kinds.values())


def machines_of(image):
    return sold("aws" if IMAGES[image].cloud == "none" else IMAGES[image].cloud)


CASES = [(image, machine) for image in IMAGES for machine in machines_of(image)]


def shared(machine, way):
    """The sharing as a stack file has it; None where this GPU cannot be cut."""
    if not (isinstance(way, str) and way.startswith("mig")):
        return way
    product = MACHINES[machine].gpu.mig
    if product is None:
        return None
    cut = {"mig": {product.profiles[0].name: 1}}
    return cut if way == "mig" else {**cut, "time_slicing": 2}


def raw(*pools, **more):
    """A platform of one cloud, that of the first pool's image."""
    cloud = IMAGES[pools[0][0]].cloud
    made = [
        pool(f"p{n}", machine=machine, image=image, sharing=sharing, nodes=1)
        for n, (image, machine, sharing) in enumerate(pools)
    ]
    return platform(made, cloud=cloud, **more)


def acts(planned, one):
    """By part, everybody who brings it to a node of the pool."""
    image, parts = IMAGES[one.node_software.image], planned.operator
    labels = {**one.labels, **one.node_software.labels}
    claimed = one.dra is not None
    found = {}
    for part in SoftwarePart:
        who = []
        told = labels.get(DEPLOY_LABEL[part]) != "false" and labels.get(OPERANDS) != "false"
        if parts is not None and parts.enabled[part.value] and told:
            who.append(ComponentOwner.OPERATOR)
        handed = claimed and part in {SoftwarePart.DEVICE_PLUGIN, SoftwarePart.MIG_MANAGER}
        if handed:
            who.append(ComponentOwner.DRA_DRIVER)
        elif image.owners[part] is not ComponentOwner.OPERATOR:
            who.append(image.owners[part])
        elif claimed and part is SoftwarePart.TOOLKIT and installs_dra_driver(planned.spec):
            who.append(ComponentOwner.RUNTIME)
        found[part] = who
    return found


def problems(given):
    """Parts with several owners, with none, or with another than planned; [] where it is refused."""
    planned, findings = judge(spec_of(given))
    refused = [f for f in findings if f.severity is Severity.ERROR]
    if planned is None:
        return [] if refused else ["no plan, and nobody says why"]
    return [
        f"{one.name} {part.value}: {[w.value for w in who]}, planned {owners[part.value]}"
        for one in planned.pools
        if (owners := one.node_software.owners)
        for part, who in acts(planned, one).items()
        if [each.value for each in who] != [owners[part.value]]
    ]


@pytest.mark.parametrize(("image", "machine"), CASES)
def test_each_part_has_one_owner_or_the_platform_is_refused(image, machine):
    for way in SHARING:
        sharing = shared(machine, way)
        if sharing is not None:
            assert problems(raw((image, machine, sharing))) == [], way


PAIRS = [
    pair
    for cloud in ("aws", "gcp", "none")
    for pair in itertools.combinations([n for n, i in IMAGES.items() if i.cloud == cloud], 2)
]
BIG = {"aws": "p5.48xlarge", "gcp": "a3-highgpu-8g", "none": "p5.48xlarge"}


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_images_beside_each_other_keep_off_what_the_other_needs(first, second):
    """The operator has one switch for the cluster: labels keep it off nodes whose image brings the part."""
    machine = BIG[IMAGES[first].cloud]
    for one, two in itertools.product(["none", {"time_slicing": 2}, {"mps": 2}], repeat=2):
        assert problems(raw((first, machine, one), (second, machine, two))) == []


def test_there_is_more_than_one_to_every_question():
    seen = {
        tuple(IMAGES[image].owners.values()) for image, _ in CASES if IMAGES[image].cloud != "gcp"
    }
    assert len(seen) >= 4
    assert {IMAGES[image].cloud for image, _ in CASES} == {"aws", "gcp", "none"}
    assert len(CASES) > 40


def test_a_second_owner_would_be_seen():
    """Without the label that keeps it off, the operator's part comes beside the image's."""
    given = raw(("al2023-nvidia", "p5.48xlarge", "none"), ("ubuntu-eks", "p5.48xlarge", "none"))
    planned, _ = judge(spec_of(given))
    assert planned is not None
    one = planned.pools[0]
    kept = DEPLOY_LABEL[SoftwarePart.DRIVER]
    assert {**one.labels, **one.node_software.labels}[kept] == "false"
    assert acts(planned, one)[SoftwarePart.DRIVER] == [ComponentOwner.IMAGE]
    assert planned.operator is not None
    assert planned.operator.enabled["driver"]


@pytest.mark.parametrize("image", [name for name, i in IMAGES.items() if i.cloud == "aws"])
def test_claims_beside_counted_gpus_are_refused(image):
    """The operator serves one of them in a cluster: both would be two owners of each GPU."""
    given = raw((image, "p5.48xlarge", "dra"), (image, "p5.48xlarge", "none"))
    planned, findings = judge(spec_of(given))
    assert planned is None
    assert {f.id for f in findings if f.severity is Severity.ERROR} & {
        "dra.mixed",
        "image.sharing",
    }
