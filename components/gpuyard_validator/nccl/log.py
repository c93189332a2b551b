"""Reads the NCCL log (NCCL_DEBUG=INFO): version, network plugin, and the transport of each channel.

Line formats: NVIDIA/nccl at 5067397, src/transport/{net,p2p,shm}.cc and src/init.cc, and older ones from
public logs. A plugin's name does not show the transport: libfabric's provider may still be tcp.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Transport(StrEnum):
    """The transport of a channel."""

    P2P = "p2p"
    """From GPU to GPU: NVLink, or PCIe without NVLink. The log does not distinguish them."""
    SHM = "shm"
    """Through host memory."""
    IB = "ib"
    """InfiniBand or RoCE, by NCCL's own transport or that of its SHARP plugin."""
    EFA = "efa"
    FASTRAK = "fastrak"
    TCPX = "tcpx"
    GIB = "gib"
    TCP = "tcp"
    """TCP sockets: NET/Socket, FastSocket, or libfabric with the provider tcp."""
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One direction of a channel, between two ranks."""

    source: int
    target: int
    transport: Transport
    gdr: bool
    """GPUDirect RDMA: the adapter accesses GPU memory itself."""
    log_line: str
    """As in the log: NET/Libfabric/0/GDRDMA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclLog:
    """Content of a log; empty where the log does not report it."""

    version: str
    network: str
    """The network plugin in use, with its version."""
    provider: str
    """The libfabric provider; of several, the one that is not efa."""
    hops: tuple[Hop, ...]
    nvls: int
    """Channels through NVLink switches."""
    causes: tuple[str, ...]
    """Why a faster network is not used, where the log reports it."""


_HOP = re.compile(
    r"(?:Channel|Ring) \d+(?:/\d+)? ?: (\d+)\[\w+\] -> (\d+)\[\w+\] +(?:\[(?:send|receive)\] +)?via (.+?)"
    r"(?: comm 0x.*)?\s*$"
)
_NET = re.compile(r"NET/([^/]+)/\d+")
_VERSION = re.compile(r"NCCL version (\d+\.\d+\.\d+\S*)")
_NETWORK = re.compile(r"Using network (.+?)\s*$")
_PLUGIN_VERSION = re.compile(
    r"(?:Initializing|Using) (aws-ofi-nccl \S+)|Initializing network (FasTrak, version: \S+)"
    r"|Initializing (gIB v\S+)|NET/(GPUDirectTCPX ver\. \S+?)\.?\s*$"
)
_PROVIDER = re.compile(r"Selected [Pp]rovider is ([A-Za-z0-9_;-]+)")
_NVLS = re.compile(r" (\d+) nvls channels")
_CAUSES = {
    r"NCCL_IB_DISABLE set by environment to 1": "NCCL_IB_DISABLE=1 is set: unset it",
    r"NCCL_NET set by environment to Socket": "NCCL_NET=Socket is set: unset it",
    r"NET/IB : No device found": "NCCL sees no InfiniBand device: give the pod its adapters",
    r"version `GLIBC_\S+' not found": "the network plugin needs another C library than the image has",
    r"(?:Could not find: |returned 2 : )libnccl-net": "no network plugin was found: put it on LD_LIBRARY_PATH",
    r"No plugin found|No eligible providers were found|fi_getinfo\(\) call failed": (
        "no network plugin or no adapters: check the base image, and request the adapters in the pod"
    ),
    r"(?m)^(?!.*NET/Socket).*(?:GPU Direct RDMA Disabled|disabling GDR|GDR not supported)": (
        "no GPUDirect RDMA: use the open kernel modules, or load nvidia-peermem"
    ),
}
"""Log patterns, and what to do. NCCL also reports missing GPUDirect for TCP sockets."""
_NAMES = (
    (re.compile(r"IB|IBext.*|UCX.*", re.IGNORECASE), Transport.IB),
    (re.compile(r"FasTrak", re.IGNORECASE), Transport.FASTRAK),
    (re.compile(r"GPUDirectTCPX.*", re.IGNORECASE), Transport.TCPX),
    (re.compile(r"gIB"), Transport.GIB),
    (re.compile(r"(?:Fast)?Socket", re.IGNORECASE), Transport.TCP),
)
_PROVIDERS = {"efa": Transport.EFA, "tcp": Transport.TCP, "sockets": Transport.TCP}
INTRA_NODE = {
    "nvlink": (Transport.P2P,),
    "pcie": (Transport.P2P, Transport.SHM),
}
INTER_NODE = {
    "nvlink": (Transport.P2P,),
    "efa": (Transport.EFA,),
    "infiniband": (Transport.IB,),
    "roce": (Transport.IB,),
    "fastrak": (Transport.FASTRAK,),
    "tcpx": (Transport.TCPX,),
    "gib": (Transport.GIB, Transport.IB),
    "tcp": tuple(Transport),
}
"""Transports that satisfy an expectation.

gIB is NCCL's InfiniBand with Google's settings: without them RDMA is still RDMA."""


def read_log(text: str) -> NcclLog:
    """Everything that is recognized; other lines may be interleaved."""
    lines = text.splitlines()
    providers = _each(_PROVIDER, lines)
    provider = next((p for p in providers if p != "efa"), next(iter(providers), ""))
    networks = [name for name in _each(_NETWORK, lines) if name]
    versions = _each(_PLUGIN_VERSION, lines)
    nvls = _each(_NVLS, lines)
    return NcclLog(
        version=next(iter(_each(_VERSION, lines)), ""),
        network=", ".join(dict.fromkeys([*networks, *versions])),
        provider=provider,
        hops=tuple(dict.fromkeys(_hops(lines, provider))),
        nvls=max(map(int, nvls), default=0),
        causes=tuple(cause for form, cause in _CAUSES.items() if re.search(form, text)),
    )


def excerpt(text: str) -> str:
    """The lines that `read_log` needs, with one line for identical channels: what is sent."""
    lines_by_key: dict[object, str] = {}
    forms = (_VERSION, _NETWORK, _PLUGIN_VERSION, _PROVIDER, _NVLS, *map(re.compile, _CAUSES))
    for line in text.splitlines():
        hop = _HOP.search(line)
        matched = tuple(match.group() for form in forms if (match := form.search(line)))
        if hop or matched:
            lines_by_key.setdefault((hop and hop.groups(), matched), line)
    return "\n".join(lines_by_key.values())


def _each(form: re.Pattern[str], lines: list[str]) -> list[str]:
    """The matches of the pattern's groups, without duplicates, in order."""
    results = (match for line in lines if (match := form.search(line)))
    return list(dict.fromkeys(next(filter(None, match.groups()), "") for match in results))


def _hops(lines: list[str], provider: str) -> Iterator[Hop]:
    for line in lines:
        match = _HOP.search(line)
        if match is None:
            continue
        source, target, transport_text = match.groups()
        yield Hop(
            source=int(source),
            target=int(target),
            transport=_transport(transport_text, provider),
            gdr="/GDRDMA" in transport_text,
            log_line=transport_text,
        )


def _transport(transport_text: str, provider: str) -> Transport:
    if transport_text.startswith("P2P/"):
        return Transport.P2P
    if transport_text.startswith("SHM") or transport_text == "direct shared memory":
        return Transport.SHM
    net = _NET.match(transport_text)
    if net is None:
        return Transport.OTHER
    if "libfabric" in net[1].lower():
        return _PROVIDERS.get(provider, Transport.OTHER)
    results = (way for form, way in _NAMES if form.fullmatch(net[1]))
    return next(results, Transport.OTHER)


def between_nodes(log: NcclLog, gpus: int) -> tuple[Hop, ...]:
    """Hops between nodes; ranks are numbered node by node."""
    return tuple(hop for hop in log.hops if hop.source // gpus != hop.target // gpus)


def wrong_transport_hops(log: NcclLog, gpus: int, inside: str, between: str) -> tuple[Hop, ...]:
    """Hops on another transport than expected."""
    outer = between_nodes(log, gpus)
    return tuple(
        hop
        for hop in log.hops
        if hop.transport not in (INTER_NODE[between] if hop in outer else INTRA_NODE[inside])
    )
