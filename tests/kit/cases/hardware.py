"""Healthy machines as the validator reads them, and a plan's expectations of them.

Rows marked `capture` have memory, firmware, clocks, power and PCIe as nvidia-smi -q -x reported on real nodes
(NVIDIA/k8s-test-infra at 3b2b865, testdata/hardware, read on 2026-11-23). The others are from vendors' tables
and the catalogue. No row was recorded with this program on a device.
"""

from dataclasses import dataclass, replace

from gpuyard_validator.expectations import SCHEMA, CollectivePeers, Expectations, Layout, Network
from gpuyard_validator.load.record import Load, LoadSample, Rate
from gpuyard_validator.nccl.arithmetic import GIB, Operation, bus_factor
from gpuyard_validator.nccl.record import Collectives, Measure, RankEnd
from gpuyard_validator.snapshot import Adapter, Fabric, Gpu, Instance, Snapshot
from gpuyard_validator.values import Missing, MissingReason

NO = Missing(MissingReason.NOT_SUPPORTED)


@dataclass(frozen=True)
class Card:
    """One product as a node has it."""

    product: str
    pci_id: str
    architecture: str
    gib: int
    mib: int
    gpus: int
    nvlink: int
    links: int
    generation: int
    lanes: int
    sm_mhz: int
    watts: int
    vbios: str
    by: str


PRODUCTS = {
    "A100-40": "NVIDIA-A100-SXM4-40GB",
    "A100-80": "NVIDIA-A100-SXM4-80GB",
    "H100": "NVIDIA-H100-80GB-HBM3",
    "H200": "NVIDIA-H200",
    "B200": "NVIDIA-B200",
    "GB200": "NVIDIA-GB200",
    "L4": "NVIDIA-L4",
    "L40S": "NVIDIA-L40S",
    "T4": "Tesla-T4",
    "RTX6000": "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
}
ROWS = """
#        pci   arch       GiB  MiB     n  NVL   l   gen  x   MHz   W     VBIOS           by
A100-40  20B0  Ampere     40   40960   8  600   12  4    16  1410  400   92.00.45.00.03  capture
A100-80  20B2  Ampere     80   81920   8  600   12  4    16  1410  400   92.00.A0.00.01  tables
H100     2330  Hopper     80   81559   8  900   18  5    16  1980  700   96.00.99.00.01  capture
H200     2335  Hopper     141  143771  8  900   18  5    16  1980  700   96.00.A5.00.01  tables
B200     2901  Blackwell  180  183359  8  1800  18  5    16  1965  1000  97.00.FA.00.09  capture
GB200    2941  Blackwell  186  189471  4  1800  18  5    16  2062  1200  97.00.B9.00.69  capture
L4       27B8  Ada        24   23034   1  0     0   4    8   2040  72    95.04.29.00.06  tables
L40S     26B9  Ada        48   46068   1  0     0   4    8   2520  350   95.02.66.00.15  capture
T4       1EB8  Turing     16   15360   1  0     0   3    8   1590  70    90.04.96.00.02  capture
RTX6000  2BB5  Blackwell  96   97887   8  0     0   5    16  2430  600   98.02.55.00.01  tables
"""
"""Per GPU; n to a node, NVL its GB/s by l links, gen and x of its PCIe."""


def cards():
    for line in ROWS.strip().splitlines()[1:]:
        name, pci, arch, *numbers, vbios, by = line.split()
        yield name, Card(PRODUCTS[name], pci, arch, *map(int, numbers), vbios, by)


CARDS = dict(cards())
LOADED = {
    "H100-loaded": ("H100", 2, "efa", "full"),
    "B200-loaded": ("B200", 1, "tcp", "soak"),
    "T4-loaded": ("T4", 1, "tcp", "full"),
}
"""Nodes after their work: how many together, the network between them, and the profile."""
CARDS |= {name: CARDS[card] for name, (card, *_) in LOADED.items()}
SPEEDS = {
    "H100-loaded": (2600.0, 55.0, 390.0, 740.0, 0.0),
    "B200-loaded": (5500.0, 55.0, 760.0, 1700.0, 1600.0),
    "T4-loaded": (250.0, 6.2, 0.0, 45.0, 0.0),
}
"""Values of a good GPU: GB/s in its memory, to and from the host, to another GPU, TFLOPS of products, of steps."""

# GPU slices, compute slices and MiB of one instance, by profile: MIG User Guide, and where it has no MiB
# (B200, H200) eighths of the memory, less what the driver keeps.
SLICES = {
    "1g.5gb": Instance(gpu_slices=1, compute_slices=1, memory_mib=4864),
    "2g.10gb": Instance(gpu_slices=2, compute_slices=2, memory_mib=9984),
    "3g.20gb": Instance(gpu_slices=3, compute_slices=3, memory_mib=20096),
    "1g.10gb": Instance(gpu_slices=1, compute_slices=1, memory_mib=9728),
    "2g.20gb": Instance(gpu_slices=2, compute_slices=2, memory_mib=19968),
    "3g.40gb": Instance(gpu_slices=3, compute_slices=3, memory_mib=40192),
    "1g.18gb": Instance(gpu_slices=1, compute_slices=1, memory_mib=16384),
    "3g.71gb": Instance(gpu_slices=3, compute_slices=3, memory_mib=71424),
    "1g.23gb": Instance(gpu_slices=1, compute_slices=1, memory_mib=22000),
    "3g.90gb": Instance(gpu_slices=3, compute_slices=3, memory_mib=91000),
    "1g.24gb": Instance(gpu_slices=1, compute_slices=1, memory_mib=24192),
    "2g.48gb": Instance(gpu_slices=2, compute_slices=2, memory_mib=48512),
}
CUTS = {
    "A100-40": {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2},
    "A100-80": {"3g.40gb": 1, "1g.10gb": 4},
    "H100": {"1g.10gb": 7},
    "H200": {"3g.71gb": 1, "1g.18gb": 4},
    "B200": {"3g.90gb": 1, "1g.23gb": 4},
    "RTX6000": {"2g.48gb": 1, "1g.24gb": 2},
}
NETWORKS = {
    "H100": ("efa", "efa", "unspecified", 32, 100.0),
    "H200": ("infiniband", "mlx5_core", "InfiniBand", 8, 400.0),
    "GB200": ("roce", "mlx5_core", "Ethernet", 4, 400.0),
}
NETWORKS["H100-loaded"] = NETWORKS["H100"]
RACKS = ("GB200",)
BUS_GBPS = {
    "H100-loaded": (480.0, 330.0, 300.0, 79.0),
    "B200-loaded": (830.0, 700.0, 690.0, 650.0),
    "T4-loaded": (),
}
"""Values of a good run: all-reduce, all-gather, reduce-scatter, all-to-all. Published where thresholds.py has rows."""


def expected(name, *, cut=False, **more):
    """A plan's expectation of a node of these."""
    card = CARDS[name]
    layouts = (Layout(gpus=tuple(range(card.gpus)), counts=CUTS[name]),) if cut else ()
    network = None
    if name in NETWORKS:
        kind, _, _, devices, gbps = NETWORKS[name]
        network = Network(kind=kind, devices=devices, names=(), gbps_per_device=gbps)
    result = Expectations(
        schema=SCHEMA,
        platform="lab",
        pool="train",
        required=True,
        gpus=card.gpus,
        product=card.product,
        pci_id=card.pci_id,
        memory_gib=card.gib,
        architecture=card.architecture,
        driver="580.105.08",
        nvlink_gbps=card.nvlink,
        rack=name in RACKS,
        sharing="mig" if cut else "none",
        layouts=layouts,
        network=network,
        profile=LOADED[name][3] if name in LOADED else "quick",
        collectives=CollectivePeers(nodes=LOADED[name][1], between=LOADED[name][2])
        if name in LOADED
        else None,
        accepted=(),
    )
    return replace(result, **more)


def collectives(name):
    """A good run of these nodes; the logs are composed as NCCL writes them."""
    nodes, gpus = LOADED[name][1], CARDS[name].gpus
    ranks = tuple(range(gpus * nodes))
    inner = "NCCL INFO Channel 00/0 : {0}[0] -> {1}[1] via P2P/CUMEM\n"
    outer = "NCCL INFO Channel 00/0 : {0}[0] -> {1}[0] [send] via NET/Libfabric/0/GDRDMA\n"
    plugin = "NCCL INFO Using network Libfabric\nNCCL INFO NET/OFI Selected provider is efa\n"
    return Collectives(
        on="2026-11-24",
        nodes=nodes,
        gpus=gpus,
        ends=tuple(
            RankEnd(rank=r, node=f"node-{r // 8 + 1}", end="done", output="") for r in ranks
        ),
        measures=tuple(
            measure(operation, ranks, bus)
            for operation, bus in zip(Operation, BUS_GBPS[name], strict=False)
        ),
        slow=(),
        bisected=True,
        versions=("2.31.2",),
        logs=tuple(
            (plugin + outer.format(r, (r + 8) % 16) if nodes > 1 else "")
            + inner.format(r, r - r % 8 + (r + 1) % 8)
            for r in ranks
        ),
    )


def measure(operation, ranks, bus, size=8 * GIB):
    """The output of a run that reached this bus bandwidth."""
    seconds = size * bus_factor(operation, len(ranks)) / bus / 1e9
    return Measure(operation=operation.value, size=size, ranks=ranks, seconds=seconds, wrong=0)


def load(name, index):
    """The results of a good GPU, for a run of its profile."""
    memory, slot, pair, product, step = SPEEDS[name]
    card = CARDS[name]
    others = [n for n in range(card.gpus) if n != index]
    created = [
        rate("memory", memory),
        rate("to_device", slot),
        rate("to_host", slot),
        *(rate("peers", pair, other=n) for n in others),
        rate("product", product * 1000),
        *([rate("step", step * 1000)] if step else []),
    ]
    return Load(
        uuid=uuid(index),
        ended="done",
        output="",
        code=0,
        missing_library="",
        versions=("CUDA 13.1", "cuBLAS 130100"),
        rates=tuple(created),
        seen=tuple(seen(card, task) for task in dict.fromkeys(each.task for each in created)),
    )


def rate(task, giga, other=None, **more):
    """Work at this rate: GB/s, or thousandths of TFLOPS."""
    result = Rate(task=task, other=other, amount=giga * 1e9, seconds=1.0, rounds=20, wrong=0)
    return replace(result, **more)


def seen(card, task):
    """The driver's report of a good GPU under load: only its power limit throttles it."""
    return LoadSample(
        task=task,
        samples=3,
        reasons=4,
        margin=12,
        milliwatts=card.watts * 980,
        sm_mhz=card.sm_mhz - 200,
        pcie_generation=card.generation,
        pcie_width=card.lanes,
        uncorrected=0,
        remapped=0,
    )


def uuid(index):
    return f"GPU-0000000{index}-0000-0000-0000-00000000000{index}"


def machine(name, *, cut=False):
    """A healthy node of these, idle."""
    card = CARDS[name]
    kind, driver, link, devices, gbps = NETWORKS.get(name, ("", "", "", 0, 0.0))
    return Snapshot(
        node="node-1",
        source=f"{name}, {card.by}",
        gpus=tuple(gpu(name, index, cut=cut) for index in range(card.gpus)),
        driver="580.105.08",
        kernel_driver="580.105.08",
        open_modules=True,
        modules=("nvidia", "nvidia_uvm"),
        environment={"PATH": "/bin", "NVIDIA_VISIBLE_DEVICES": "all"},
        adapters=tuple(
            Adapter(name=f"{kind}_{n}", driver=driver, active=True, link=link, gbps=gbps)
            for n in range(devices)
        ),
        **({"collectives": collectives(name)} if name in LOADED else {}),
    )


def gpu(name, index, *, cut):
    card = CARDS[name]
    old, able = card.architecture == "Turing", name in CUTS or name == "GB200"
    created = [SLICES[each] for each, count in CUTS.get(name, {}).items() for _ in range(count)]
    fabric = name.removesuffix("-loaded") in ("H100", "H200", "B200", "GB200")
    domain = "00000001-0000-0000-0000-000000000001"
    unassigned = "00000000-0000-0000-0000-000000000000"
    return Gpu(
        index=index,
        answers=True,
        name=card.product.replace("-", " ") if "RTX" in card.product else spoken(card.product),
        uuid=uuid(index),
        serial=f"16500000000{index // 2:02d}",
        pci_id=card.pci_id,
        memory_mib=card.mib,
        vbios=card.vbios,
        gsp_firmware="580.105.08",
        inforom_image="G520.0200.00.05",
        inforom_valid=True,
        persistence=True,
        compute_mode=0,
        ecc_current=True,
        ecc_pending=True,
        mig_current=cut if able else NO,
        mig_pending=cut if able else NO,
        instances=tuple(created) if cut else () if able else NO,
        recovery_action=0,
        unrepairable=False,
        repair_pending=False,
        remapped_uncorrectable=NO if old else 0,
        remap_pending=NO if old else False,
        remap_failure=NO if old else False,
        retired_pages=0 if old else NO,
        retired_pending=False if old else NO,
        sram_uncorrected=0,
        sram_threshold=NO if old else False,
        dram_uncorrected=0,
        clock_reasons=1,
        thermal_margin=49,
        power_limit_mw=card.watts * 1000,
        power_default_mw=card.watts * 1000,
        max_sm_mhz=card.sm_mhz,
        pcie_generation=card.generation,
        pcie_width=card.lanes,
        nvlinks=(True,) * card.links if card.links else NO,
        nvlink_recoveries=0 if card.links else NO,
        unreachable=() if card.links else NO,
        fabric=Fabric(
            state=3,
            status=0,
            cluster=domain if name in RACKS else unassigned,
            clique=2 if name in RACKS else 0,
            health=0,
        )
        if fabric
        else NO,
        processes=(),
        utilization=NO if cut else 0,
        **({"load": load(name, index)} if name in LOADED else {}),
    )


def spoken(product):
    """The product name of NVML: GPU Feature Discovery replaces its blanks by dashes."""
    for dashed in ("SXM4-40GB", "SXM4-80GB"):
        product = product.replace(f"-{dashed}", f"-{dashed.replace('-', '~')}")
    head, _, tail = product.partition("-")
    message = f"{head} {tail}"
    if "A100" not in message:
        message = message.replace("-", " ")
    return message.replace("~", "-")


def altered(snapshot, which=1, **values):
    """The same machine with other values of one GPU; counted from the end where there are fewer."""
    place = min(which, len(snapshot.gpus) - 1)
    gpus = list(snapshot.gpus)
    gpus[place] = replace(gpus[place], **values)
    return replace(snapshot, gpus=tuple(gpus))
