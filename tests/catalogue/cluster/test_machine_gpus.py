"""How many GPUs one machine has, whoever sells it."""

from gpuyard_core.catalogue.cluster.machine_gpus import (
    contains_gpu_machine_name,
    gpus_of_machine,
    has_gpus,
)
from gpuyard_core.catalogue.machines import MACHINES
from kit.every import every


@every(
    ("name", "gpus"),
    [
        ("g4-standard-192", 4),
        ("g6e.12xlarge", 4),
        ("m7i.large", 0),
        ("P3.8xlarge", 4),
        ("p2.16xlarge", 16),
        ("Standard_NC6s_v3", 1),
        ("Standard_NC24rs_v3", 4),
        ("Standard_NC4as_T4_v3", 1),
        ("Standard_NC64as_T4_v3", 4),
        ("Standard_NC24ads_A100_v4", 1),
        ("standard_nc96ads_a100_v4", 4),
        ("Standard_NC80adis_H100_v5", 2),
        ("Standard_ND96asr_v4", 8),
        ("Standard_ND96isr_H100_v5", 8),
        ("Standard_NV6ads_A10_v5", 1),
        ("Standard_NV72ads_A10_v5", 2),
        ("Standard_ND128isr_NDR_GB200_v6", None),
        ("VM.GPU.A10.1", 1),
        ("BM.GPU.A100-v2.8", 8),
        ("BM.GPU4.8", 8),
        ("VM.Standard.E4.Flex", None),
        ("", None),
    ],
)
def test_the_gpus_of_a_machine_type(name, gpus):
    assert gpus_of_machine(name) == gpus


@every(
    ("name", "has"),
    [
        ("p3.2xlarge", True),
        ("G3s.xlarge", True),
        ("p5.48xlarge", True),
        ("g6f.large", True),
        ("a2-highgpu-1g", True),
        ("m7i.large", False),
        ("p3", False),
        ("Standard_NC6s_v3", False),  # of Azure and Oracle only who asks for a number is told
    ],
)
def test_which_machines_of_ec2_and_google_have_gpus(name, has):
    assert has_gpus(name) is has


def test_every_machine_of_the_catalogue_is_named_by_its_type_where_it_has_gpus():
    for machine in MACHINES.values():
        if machine.name == machine.type_name:
            assert (
                contains_gpu_machine_name(f'["{machine.name}"]'.encode()) is machine.is_gpu_machine
            ), machine.name
