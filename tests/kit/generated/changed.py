"""Two stacks on one cloud: the second is the first with a few fields changed, as over a year.

A number and a cloud determine a pair.
"""

import copy
import random
from collections.abc import Callable
from typing import Any

from gpuyard.plan import plan
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.region import Region
from gpuyard_core.errors import SpecError
from kit.stacks import Raw, platform, pool, spec_of, team

_TRIES = 60
REGIONS = {"aws": "us-east-1", "gcp": "us-central1"}


def changed(cloud: str, number: int) -> tuple[PlatformPlan, PlatformPlan]:
    """The plans of both."""
    rng = random.Random(f"changed {cloud} {number}")  # noqa: S311  no secret is made of it
    for _ in range(_TRIES):
        first = _first(cloud, rng)
        second = copy.deepcopy(first)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            rng.choice(_CHANGES)(second, cloud, rng)
        plans = planned(first, cloud), planned(second, cloud)
        if plans[0] is not None and plans[1] is not None:
            return plans[0], plans[1]
    raise AssertionError(f"{_TRIES} pairs for number {number} on {cloud}, and none is taken")


def planned(raw: Raw, cloud: str) -> PlatformPlan | None:
    """The plan of a stack, None if it is rejected."""
    try:
        return plan(spec_of(raw), region=Region(REGIONS[cloud], f"{cloud}:region"))[0]
    except SpecError:
        return None


def _first(cloud: str, rng: random.Random) -> Raw:
    raw = platform(
        [_pool(cloud, name, rng) for name in ("train", "serve")[: rng.choice((1, 2, 2))]],
        [team("vision")],
        cloud=cloud,
        cluster={"protect": rng.random() < 0.5},
    )
    for _ in range(rng.randrange(3)):
        rng.choice(_CHANGES[3:])(raw, cloud, rng)
    return raw


_MACHINES = {
    "aws": ("p5.48xlarge", "p5en.48xlarge", "p4d.24xlarge", "g6.12xlarge"),
    "gcp": ("a3-highgpu-8g", "a3-megagpu-8g", "g2-standard-48", "a2-highgpu-8g"),
}
_ZONES = {
    "aws": ("us-east-1a", "us-east-1b", "us-east-1c"),
    "gcp": ("us-central1-a", "us-central1-b", "us-central1-c"),
}
_IMAGES = {"aws": ("al2023", "bottlerocket"), "gcp": ("cos", "ubuntu")}


def _pool(cloud: str, name: str, rng: random.Random) -> Raw:
    created = pool(name, machine=rng.choice(_MACHINES[cloud]), nodes="0..4", scaling="autoscaler")
    if rng.random() < 0.6:
        created["zones"] = rng.sample(_ZONES[cloud], rng.randint(1, 2))
    return created


# ── changes ───────────────────────────────────────────────────────────────────────────────────────
Change = Callable[[Raw, str, random.Random], None]


def _another_pool(raw: Raw, cloud: str, rng: random.Random) -> None:
    if all(each["name"] != "more" for each in raw["pools"]):
        raw["pools"].insert(rng.randrange(2), _pool(cloud, "more", rng))


def _no_pool(raw: Raw, _cloud: str, rng: random.Random) -> None:
    if len(raw["pools"]) > 1:
        raw["pools"].pop(rng.randrange(len(raw["pools"])))


def _renamed(raw: Raw, _cloud: str, rng: random.Random) -> None:
    one = rng.choice(raw["pools"])
    if "previous_names" not in one:
        one.update(name=f"{one['name']}-b", previous_names=[one["name"]])


def _of_a_pool(word: str, values: Callable[[str, random.Random], Any]) -> Change:
    def change(raw: Raw, cloud: str, rng: random.Random) -> None:
        one = rng.choice(raw["pools"])
        if rng.random() < 0.15 and word not in {"machine", "nodes"}:
            one.pop(word, None)
        else:
            one[word] = values(cloud, rng)

    return change


def _of_the_cluster(word: str, values: Callable[[str, random.Random], Any]) -> Change:
    def change(raw: Raw, cloud: str, rng: random.Random) -> None:
        if rng.random() < 0.2:
            raw.setdefault("cluster", {}).pop(word, None)
        else:
            raw.setdefault("cluster", {})[word] = values(cloud, rng)

    return change


def _of_all(word: str, values: Callable[[str, random.Random], Any]) -> Change:
    def change(raw: Raw, cloud: str, rng: random.Random) -> None:
        raw[word] = values(cloud, rng)

    return change


def _one_of(*values: Any) -> Callable[[str, random.Random], Any]:
    return lambda _, rng: copy.deepcopy(rng.choice(values))


def _by_cloud(of: dict[str, tuple[Any, ...]]) -> Callable[[str, random.Random], Any]:
    return lambda cloud, rng: rng.choice(of[cloud])


def _admins(cloud: str, rng: random.Random) -> list[str]:
    if cloud == "gcp":
        return [rng.choice(("group:ml@acme.example", "user:me@acme.example"))]
    return [f"arn:aws:iam::123456789012:role/{rng.choice(('platform', 'deployer'))}"]


_RESERVED = {"reserved": "cr-0123456789abcdef0", "nodes": 2}
_CHANGES: tuple[Change, ...] = (
    _another_pool,
    _no_pool,
    _renamed,
    _of_a_pool("machine", _by_cloud(_MACHINES)),
    _of_a_pool("nodes", _one_of("0..4", "0..8", "1..4", 2, 4)),
    _of_a_pool("zones", lambda cloud, rng: rng.sample(_ZONES[cloud], rng.randint(1, 3))),
    _of_a_pool("capacity", _one_of(["spot"], ["on-demand"], ["spot", "on-demand"], [_RESERVED])),
    _of_a_pool("image", _by_cloud(_IMAGES)),
    _of_a_pool("disk_gib", _one_of(200, 400)),
    _of_a_pool("labels", _one_of({"a": "b"}, {"a": "c", "d": "e"})),
    _of_a_pool("numa", _one_of("none", "best-effort", "restricted")),
    _of_a_pool("sharing", _one_of({"time_slicing": 4}, "none")),
    _of_a_pool("scaling", _one_of("autoscaler", "fixed")),
    _of_the_cluster("network", _one_of({"cidr": "10.16.0.0/16"}, {"cidr": "10.32.0.0/16"})),
    _of_the_cluster("zones", lambda cloud, _: list(_ZONES[cloud][:2])),
    _of_the_cluster("admins", _admins),
    _of_the_cluster("protect", _one_of(True, False)),
    _of_the_cluster("logs", _one_of({"retention_days": 30}, {"kinds": ["audit"]})),
    _of_the_cluster("release_channel", _one_of("rapid", "stable")),
    _of_all("kubernetes", _one_of("1.34", "1.35", "1.36")),
    _of_all("tags", _one_of({"cost": "ml"}, {"cost": "hpc", "owner": "me"}, {})),
    _of_all("name", _one_of("lab", "yard")),
)
