"""NCCL's own log: which way each channel took, of every transport; each fixture says where it is from."""

from pathlib import Path

from gpuyard_validator.nccl.log import (
    INTER_NODE,
    INTRA_NODE,
    Transport,
    between_nodes,
    read_log,
    wrong_transport_hops,
)
from kit.every import every

LOGS = Path(__file__).with_name("logs")
P2P, SHM, TCP = Transport.P2P, Transport.SHM, Transport.TCP
NO_PLUGIN, NO_DEVICE = "no network plugin was found", "NCCL sees no InfiniBand device"


def of(name):
    return read_log((LOGS / f"{name}.log").read_text())


# A log, GPUs a node, the ways seen and whether adapters reach GPU memory on it, version, network, causes.
SEEN = [
    ("nvlink", 8, {(P2P, False)}, "2.22.3+cuda12.5", "", []),
    ("shm", 4, {(P2P, False), (SHM, False)}, "", "", []),
    ("old-roce", 8, {(P2P, False), (SHM, False), (Transport.IB, False)}, "2.5.7+cuda10.0", "", ["no net"]),
    ("infiniband", 8, {(P2P, False), (Transport.IB, True)}, "", "", []),
    ("aks-roce", 8, {(Transport.IB, True)}, "", "", []),
    ("efa", 8, {(Transport.EFA, True)}, "2.31.2+cuda13.3", "Libfabric, aws-ofi-nccl git-1f0a976", []),
    ("efa-without-gpudirect", 1, {(Transport.EFA, False)}, "", "AWS Libfabric", ["no GPUDirect RDMA"]),
    ("libfabric-on-tcp", 1, {(TCP, False)}, "", "AWS Libfabric", ["no network plugin or", "no GPUDirect"]),
    ("slingshot", 4, {(P2P, False), (Transport.OTHER, True)}, "", "", []),
    ("fastrak", 8, {(Transport.FASTRAK, True)}, "", "FasTrak, FasTrak, version: 1.0.17", []),
    ("tcpx", 8, {(Transport.TCPX, True)}, "", "GPUDirectTCPX_v7, GPUDirectTCPX ver. 3.1.8", []),
    ("gib", 8, {(Transport.GIB, True)}, "", "gIB v1.0.6", []),
    ("socket", 8, {(P2P, False), (TCP, False)}, "", "", [NO_DEVICE, NO_PLUGIN]),
    ("wrong-image", 1, {(TCP, False)}, "", "", [NO_DEVICE, "the network plugin needs another C library"]),
    ("switched-off", 1, {(TCP, False)}, "", "Socket", ["NCCL_IB_DISABLE=1 is set"]),
    ("fast-socket", 1, {(TCP, False)}, "2.20.5+cuda12.4", "", []),
    ("rack", 4, {(P2P, False)}, "", "", []),
]  # fmt: skip


@every("name, gpus, ways, version, network, causes", SEEN)
def test_a_log_tells_the_way_of_each_channel(name, gpus, ways, version, network, causes):
    found = of(name)
    assert {(hop.transport, hop.gdr) for hop in found.hops} == ways
    assert (found.version, found.network) == (version, network)
    assert len(found.causes) == len(causes)
    assert all(any(said.startswith(each) for said in found.causes) for each in causes)


def test_every_fixture_is_read_and_says_where_it_is_from():
    assert {path.stem for path in LOGS.glob("*.log")} == {name for name, *_ in SEEN}
    for path in LOGS.glob("*.log"):
        first = path.read_text().splitlines()[0]
        assert any(word in first for word in ("real", "composed")), path.name


def test_every_way_has_a_log_and_every_promise_a_way_that_keeps_it():
    seen = {way for _, _, ways, *_ in SEEN for way, _ in ways}
    assert seen == set(Transport)
    assert {way for ways in INTER_NODE.values() for way in ways} == set(Transport)


# A log, GPUs a node, what is promised inside and between, and how many hops go another way.
PROMISES = [
    ("nvlink", 8, "nvlink", "tcp", 0),
    ("shm", 4, "nvlink", "tcp", 2),
    ("shm", 4, "pcie", "tcp", 0),
    ("infiniband", 8, "nvlink", "infiniband", 0),
    ("aks-roce", 8, "nvlink", "roce", 0),
    ("efa", 8, "nvlink", "efa", 0),
    ("efa", 8, "nvlink", "infiniband", 3),
    ("libfabric-on-tcp", 1, "nvlink", "efa", 2),
    ("libfabric-on-tcp", 1, "nvlink", "tcp", 0),
    ("slingshot", 4, "nvlink", "efa", 1),
    ("fastrak", 8, "nvlink", "fastrak", 0),
    ("fastrak", 8, "nvlink", "tcpx", 2),
    ("tcpx", 8, "nvlink", "tcpx", 0),
    ("gib", 8, "nvlink", "gib", 0),
    ("aks-roce", 8, "nvlink", "gib", 0),
    ("socket", 8, "nvlink", "infiniband", 2),
    ("socket", 8, "nvlink", "gib", 2),
    ("fast-socket", 1, "nvlink", "tcpx", 1),
    ("rack", 4, "nvlink", "nvlink", 0),
    ("socket", 8, "nvlink", "nvlink", 2),
]


@every("name, gpus, inside, between, number", PROMISES)
def test_a_way_that_was_not_promised_is_seen(name, gpus, inside, between, number):
    assert len(wrong_transport_hops(of(name), gpus, inside, between)) == number


def test_each_promise_is_kept_by_one_log_and_broken_by_another():
    for column, promises in ((2, INTRA_NODE), (3, INTER_NODE)):
        kept = {row[column] for row in PROMISES if not row[4]}
        assert kept >= set(promises)
    broken = {row[3] for row in PROMISES if row[4]}
    assert broken >= set(INTER_NODE) - {"tcp", "roce", "fastrak"}


def test_nvlink_switches_and_hops_between_nodes():
    assert of("nvlink").nvls == 16
    assert of("efa-without-gpudirect").nvls == 0
    assert {hop.log_line for hop in between_nodes(of("socket"), 8)} == {"NET/Socket/0"}
    assert between_nodes(of("nvlink"), 8) == ()


def test_of_several_providers_the_one_that_is_not_efa_counts():
    """One rank of many that fell back makes all of them slow."""
    mixed = (LOGS / "efa.log").read_text() + "NCCL INFO NET/OFI Selected provider is tcp\n"
    found = read_log(mixed)
    assert found.provider == "tcp"
    assert {hop.transport for hop in found.hops} == {TCP}


@every("text", ["", "no line of NCCL's", "NCCL INFO Channel 00/02 : 0 1", "via NET/", "\x00\ud800"])
def test_a_log_that_says_nothing_says_nothing(text):
    found = read_log(text)
    assert (found.hops, found.version, found.network, found.provider, found.nvls) == (
        (), "", "", "", 0,
    )  # fmt: skip


def test_libfabric_without_a_provider_is_no_efa():
    found = read_log("NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Libfabric/0/GDRDMA")
    assert [hop.transport for hop in found.hops] == [Transport.OTHER]


def test_what_is_neither_of_them_is_another_way():
    found = read_log("NCCL INFO Channel 00/0 : 0[0] -> 1[1] via COLLNET/SHARP/0")
    assert [hop.transport for hop in found.hops] == [Transport.OTHER]
