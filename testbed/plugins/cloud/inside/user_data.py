"""User data of EC2 nodes, parsed as each image parses it.

Amazon Linux has nodeadm: parts of a MIME document, of which those of type `application/node.eks.aws` are
merged, later ones over earlier ones. Bottlerocket has TOML. Other images run a script, of which only
`/etc/eks/bootstrap.sh` is understood here.
"""

import base64
import binascii
import email
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml


class BadUserData(Exception):
    """No node joins with it; `code` is EKS's health code of the group."""

    def __init__(self, message: str, code: str = "NodeCreationFailure") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Told:
    """Settings of the kubelet and the disks, with the names of KubeletConfiguration."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Mapping[str, str], ...] = ()
    reserved: Mapping[str, str] = field(default_factory=dict[str, str])
    """kubeReserved and systemReserved; empty: the image computes them."""
    system_reserved: Mapping[str, str] = field(default_factory=dict[str, str])
    eviction: Mapping[str, str] = field(default_factory=dict[str, str])
    max_pods: int | None = None
    raid: bool = False
    """Local disks are combined, and pods use them instead of the boot disk."""
    devices: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of the image's device plugin."""
    joins: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arguments of the script: cluster, endpoint, authority."""


def told(encoded: str | None, family: str) -> Told:
    """The settings that an image family reads from its user data."""
    text = _decoded(encoded)
    if family == "BOTTLEROCKET":
        return _bottlerocket(text)
    return _script(text) if family == "CUSTOM" else _nodeadm(text)


def _decoded(encoded: str | None) -> str:
    try:
        return base64.b64decode(encoded or "", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise BadUserData(f"Invalid BASE64 encoding of user data: {error}", _TEMPLATE) from None


_TEMPLATE = "Ec2LaunchTemplateInvalidConfiguration"


# ── Amazon Linux ──────────────────────────────────────────────────────────────────────────────────
_SPEC = {"cluster", "containerd", "featureGates", "instance", "kubelet"}
_INSIDE = {
    "cluster": {
        *("name", "apiServerEndpoint", "certificateAuthority", "cidr", "enableOutpost", "id"),
    },
    "containerd": {"config", "baseRuntimeSpec"},
    "instance": {"localStorage", "environment", "network"},
    "kubelet": {"config", "flags", "maxPodsExpression"},
}
_STRATEGIES = {"RAID0", "RAID10", "Mount"}


def _nodeadm(text: str) -> Told:
    if not text:
        return Told()
    document = email.message_from_string(text)
    if not document.is_multipart():
        # EKS adds its own part, and so rejects documents to which it cannot add one.
        raise BadUserData("User data was not in the MIME multipart format", _TEMPLATE)
    config: dict[str, Any] = {}
    for part in document.walk():
        if part.get_content_type() == "application/node.eks.aws":
            config = merged(config, _node_config(str(part.get_payload())))
    kubelet = config.get("kubelet") or {}
    flags = dict(_flags(kubelet.get("flags") or []))
    settings = kubelet.get("config") or {}
    storage = (config.get("instance") or {}).get("localStorage") or {}
    if (strategy := storage.get("strategy")) not in {None, *_STRATEGIES}:
        raise BadUserData(f"nodeadm: unsupported local storage strategy {strategy!r}")
    return _of_kubelet(settings, flags, raid=strategy in {"RAID0", "RAID10"})


def _node_config(text: str) -> dict[str, Any]:
    try:
        result = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadUserData(f"nodeadm: error converting YAML to JSON: {error}") from None
    if not isinstance(result, dict) or result.get("kind") != "NodeConfig":
        raise BadUserData("nodeadm: no kind NodeConfig is registered for this object")
    if result.get("apiVersion") != "node.eks.aws/v1alpha1":
        raise BadUserData(f"nodeadm: no version {result.get('apiVersion')} of NodeConfig")
    spec: dict[str, Any] = result.get("spec") or {}
    unknown = [f"spec.{name}" for name in spec if name not in _SPEC]
    for name, fields in _INSIDE.items():
        unknown += [f"spec.{name}.{each}" for each in spec.get(name) or {} if each not in fields]
    if unknown:
        raise BadUserData(f"nodeadm: strict decoding error: unknown field {unknown[0]!r}")
    return spec


def merged(under: Any, over: Any) -> Any:
    """Merge one tree over another; lists are replaced."""
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        return {key: merged(under.get(key), over.get(key)) for key in (*under, *over)}
    return under if over is None else over


# ── Bottlerocket ──────────────────────────────────────────────────────────────────────────────────
def _bottlerocket(text: str) -> Told:
    try:
        settings = tomllib.loads(text).get("settings") or {}
    except tomllib.TOMLDecodeError as error:
        raise BadUserData(f"early-boot-config: user data is not valid TOML: {error}") from None
    kubernetes = settings.get("kubernetes") or {}
    commands = settings.get("bootstrap-commands") or {}
    binds = [word for each in commands.values() for line in each["commands"] for word in line]
    return Told(
        labels=kubernetes.get("node-labels") or {},
        taints=tuple(
            {"key": key, "value": value, "effect": effect}
            for key, each in (kubernetes.get("node-taints") or {}).items()
            for value, _, effect in (one.partition(":") for one in each)
        ),
        reserved=kubernetes.get("kube-reserved") or {},
        system_reserved=kubernetes.get("system-reserved") or {},
        eviction=kubernetes.get("eviction-hard") or {},
        max_pods=kubernetes.get("max-pods"),
        raid="/var/lib/kubelet" in binds,
        devices=(settings.get("kubelet-device-plugins") or {}).get("nvidia") or {},
    )


# ── scripts ───────────────────────────────────────────────────────────────────────────────────────
_BOOTSTRAP = re.compile(r"^\s*/etc/eks/bootstrap\.sh\s+(.*)$", re.MULTILINE)


def _script(text: str) -> Told:
    if not text.startswith("#!"):
        raise BadUserData("cloud-init: user data is no script, and nothing starts the kubelet")
    called = _BOOTSTRAP.search(text)
    if called is None:
        raise BadUserData("nothing in the user data starts the kubelet")
    words = shlex.split(called[1])
    inputs = dict(zip(words[1::2], words[2::2], strict=False))
    flags = dict(_flags(shlex.split(inputs.get("--kubelet-extra-args", ""))))
    joins = {
        "cluster": words[0],
        "endpoint": inputs.get("--apiserver-endpoint", ""),
        "authority": inputs.get("--b64-cluster-ca", ""),
    }
    return _of_kubelet({}, flags, raid="/dev/md0" in text, joins=joins)


# ── kubelet ───────────────────────────────────────────────────────────────────────────────────────
def _flags(words: list[str]) -> Iterator[tuple[str, str]]:
    for each in words:
        name, _, value = each.removeprefix("--").partition("=")
        yield name, value


def _of_kubelet(
    config: Mapping[str, Any],
    flags: Mapping[str, str],
    *,
    raid: bool,
    joins: Mapping[str, str] | None = None,
) -> Told:
    """Flags take precedence over the configuration; labels can be set only by a flag."""
    pods = flags.get("max-pods") or config.get("maxPods")
    return Told(
        labels=_pairs(flags.get("node-labels", "")),
        taints=tuple(_taints(flags.get("register-with-taints", "")))
        or tuple(config.get("registerWithTaints") or ()),
        reserved=_pairs(flags.get("kube-reserved", "")) or config.get("kubeReserved") or {},
        system_reserved=_pairs(flags.get("system-reserved", ""))
        or config.get("systemReserved")
        or {},
        eviction=_pairs(flags.get("eviction-hard", ""), "<") or config.get("evictionHard") or {},
        max_pods=int(pods) if pods else None,
        raid=raid,
        joins=joins or {},
    )


def _pairs(text: str, sign: str = "=") -> dict[str, str]:
    return dict(each.split(sign, 1) for each in text.split(",") if each)


def _taints(text: str) -> Iterator[dict[str, str]]:
    for each in filter(None, text.split(",")):
        pair, _, effect = each.rpartition(":")
        key, _, value = pair.partition("=")
        yield {"key": key, "value": value, "effect": effect}
