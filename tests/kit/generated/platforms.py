"""Generated platforms, mostly well-formed and often rejected, for property tests.

A number determines a platform, so that a failure names it and hundreds are cheap; hypothesis picks more.
"""

import copy
import random
from functools import lru_cache

from gpuyard.plan import plan
from gpuyard.plan.records import PlatformPlan
from gpuyard_core.findings import Diagnostic
from kit.stacks import Raw, spec_of

KNOWN = range(300)
"""The platforms that every property checks."""

_PROFILES = ["1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]
_MACHINES = [
    "p5.48xlarge",
    "p5.48xlarge",
    "p4d.24xlarge",
    "p4d.24xlarge",
    "g6.12xlarge",
    "g6f.large",
]
_ODD_MACHINES = ["p3dn.24xlarge", "a3-highgpu-1g", "p5e.48xlarge", "m7i.xlarge", "p5.48xlarg"]
_UNITS = ["", "", "", "/shared", "/3g.20gb", "/1g.5gb", "/2g.10gb", "/1g.5gb.shared"]
_GOOD_CUT = {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}


@lru_cache(maxsize=2000)
def known(number: int) -> tuple[PlatformPlan | None, list[Diagnostic]]:
    """The plan and findings of a generated platform."""
    return plan(spec_of(platform(number)))


def platform(number: int) -> Raw:
    """The generated platform of this number."""
    raw = _Maker(random.Random(number)).platform()  # noqa: S311  no secret is made of it
    _together(raw["pools"], random.Random(f"claims {number}"))  # noqa: S311
    _Rest(random.Random(-1 - number), raw).add()  # noqa: S311
    _Sharing(random.Random(f"sharing {number}"), raw).add()  # noqa: S311
    return raw


def _together(pools: list[Raw], rng: random.Random) -> None:
    """Mostly keep either claims or counted GPUs, because both together are rejected."""
    mixed = {pool.get("sharing") == "dra" for pool in pools} == {True, False}
    if mixed and rng.randrange(4):
        claimed = not rng.randrange(6)
        for pool in pools:
            if claimed:
                pool["sharing"] = "dra"
            elif pool.get("sharing") == "dra":
                del pool["sharing"]


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng, self.pick = rng, rng.choice
        self.tame = rng.random() < 0.6
        self.keys: list[str] = []

    def once_in(self, n: int) -> bool:
        """Whether a rare feature is used: never on a tame platform."""
        return self.rng.randrange(n) == 0 and not (self.tame and n > 4)

    def span(self) -> str:
        a, b = self.rng.randint(0, 4), self.rng.randint(1, 6)
        return f"{min(a, b)}..{max(a, b)}"

    def counts(self) -> dict[str, int]:
        if self.once_in(2):
            return dict(_GOOD_CUT)
        return {self.pick(_PROFILES): self.rng.randint(1, 4) for _ in range(self.rng.randint(0, 2))}

    def sharing(self) -> object:
        turns = self.rng.randint(2, 20)
        groups = [
            {"gpus": g, **self.counts()} for g in ("0-3", "4,6", "5-9")[: self.rng.randint(0, 3)]
        ]
        return self.pick(
            [
                "none",
                {"time_slicing": turns},
                {"mps": turns},
                {"mig": self.counts()},
                {"mig": _GOOD_CUT},
                {"mig": groups},
                {"mig": self.counts(), "time_slicing": turns},
                "dra",
            ]
        )

    def capacity_option(self) -> object:
        return self.pick(
            ["spot", "on-demand", "flex-start", {"reserved": "r", "nodes": self.rng.randint(1, 5)}]
        )

    def pool(self, name: str) -> Raw:
        raw: Raw = {"name": name, "machine": self.pick(_MACHINES), "nodes": self.span()}
        if self.once_in(8):
            raw["machine"] = self.pick(_ODD_MACHINES)
        if self.once_in(10):
            raw["name"] = self.pick(["a", "b", "system"])
        if self.once_in(2):
            raw["sharing"] = self.sharing()
        if self.once_in(3):
            raw["capacity"] = [self.capacity_option() for _ in range(self.rng.randint(1, 3))]
        if self.once_in(8):
            raw["scaling"] = self.pick(["fixed", "karpenter"])
        if self.once_in(6):
            raw["previous_names"] = [self.pick(["a", "b", "q", "r"])]
        if self.once_in(12):
            raw["labels"] = {"k8s.io/a": "b", "tier": "gold"}
        return raw

    def shares(self, most: int) -> dict[str, int]:
        if self.keys:
            return {key: self.rng.randint(0, 2) for key in self.keys if self.once_in(2)}
        keys = {
            self.pick(["a", "a", "b", "b", "c", "aa"]) + self.pick(_UNITS)
            for _ in range(self.rng.randint(0, 3))
        }
        return {key: self.rng.randint(0, most) for key in sorted(keys)}

    def team(self, name: str) -> Raw:
        raw: Raw = {"name": name, "guarantee": self.shares(20)}
        if self.once_in(2):
            raw["borrow"] = self.shares(20)
        if self.once_in(3):
            raw["lend"] = self.shares(4)
        if self.once_in(10):
            raw["name"] = self.pick(["x", "y", "default"])
        if self.once_in(6):
            raw["isolation"] = self.pick(["slice", "node"])
        if self.once_in(6):
            raw["budget_usd_per_month"] = self.rng.randint(1, 200_000)
        if self.once_in(8):
            raw["previous_names"] = [self.pick(["x", "y", "q", "default"])]
        if self.once_in(3):
            raw["weight"] = self.pick([1, 2, 0.5])
        if self.once_in(4):
            raw["priority"] = self.pick(["high", "low", "hig"])
        return raw

    def shape(self, name: str) -> Raw:
        raw: Raw = {"name": name, "nodes": 1 if self.tame else self.rng.randint(1, 4)}
        if self.once_in(3):
            raw["pool"] = self.pick(["a", "b", "aa"])
        if self.once_in(2):
            return raw | {"gpus_per_node": self.rng.randint(1, 2 if self.tame else 10)}
        what = self.pick(
            [
                {"slice": "3g.20gb"},
                {"slice": "3g.40gb"},
                {"shares": 1},
                {"shares": 2},
                {"gpu_memory_gib": self.rng.randint(1, 90)},
                {"compute_percent": 30.0, "latency": "strict"},
            ]
        )
        return raw | {"per_pod": {**what, "cpu": self.pick([1, 8, 100, 300])}}

    def dedicate(self, raw: Raw) -> None:
        """Dedicate some pools to teams: on a tame platform to all teams with a guarantee in it."""
        for pool in raw["pools"]:
            if not self.once_in(3):
                continue
            users = [
                team["name"]
                for team in raw["teams"]
                for kind in ("guarantee", "borrow", "lend")
                if any(key.partition("/")[0] == pool["name"] for key in team.get(kind, {}))
            ]
            pool["owners"] = users if self.tame else [self.pick("xyz"), self.pick(["x", "zz"])]

    def platform(self) -> Raw:
        cloud = "none" if self.tame else self.pick(["none", "simulated", "aws", "gcp"])
        raw: Raw = {
            "name": "lab",
            "cloud": cloud,
            "kubernetes": "1.20" if self.once_in(20) else "1.36",
        }
        raw["pools"] = [self.pool(name) for name in "abc"[: self.rng.randint(1, 3)]]
        if self.tame and (result := plan(spec_of(raw))[0]):
            self.keys = [f"{p.name}/{a.unit}" for p in result.pools for a in p.advertised]
        raw["teams"] = [self.team(name) for name in "xyz"[: self.rng.randint(0, 3)]]
        self.dedicate(raw)
        raw["shapes"] = [self.shape(name) for name in "st"[: self.pick([0, 0, 1, 2])]]
        if not self.once_in(6):
            system = "e2-standard-4" if cloud == "gcp" else "m7i.xlarge"
            raw["system"] = {"machine": system, "nodes": 2}
        if self.once_in(2):
            raw["priorities"] = {"high": self.rng.randint(0, 2), "low": self.rng.randint(-1, 1)}
        if self.once_in(4):
            raw["queueing"] = {
                "preemption": self.pick(["reclaim", "never"]),
                "fair_sharing": self.once_in(2),
            }
        if self.once_in(5):
            raw["budget"] = {"max_usd_per_hour": self.rng.randint(1, 900)}
        return raw


_IN_POOLS: dict[str, list[object]] = {
    "zones": [["us-east-1a"], ["us-east-1a", "us-east-1b"], ["us-central1-b"], ["x"]],
    "keep_warm": [
        [{"cron": "0 7 * * 1-5", "hours": 9.5, "nodes": 1}],
        [{"cron": "*/30 * * * *", "hours": 1, "nodes": 3, "time_zone": "Europe/Paris"}],
        [{"cron": "0 25 * * *", "hours": 1, "nodes": 1}, {"cron": "x", "hours": 168, "nodes": 9}],
    ],
    "select": [{"row": "a"}, {"row": "b", "a.example/hall": "2"}, {"nvidia.com/gpu.product": "x"}],
    "fabric": [
        {"kind": "infiniband", "hcas": ["mlx5_0", "mlx5_1"], "gbps": 400.0},
        {"kind": "roce", "plugin": "rdma-device-plugin"},
        {"kind": "ethernet", "hcas": ["mlx5_0", "mlx5_0"]},
    ],
    "image": ["al2023-nvidia", "bottlerocket-nvidia", "cos", "ubuntu", "al2023"],
    "numa": ["none", "best-effort", "restricted", "single-numa-node"],
    "disk_gib": [1, 200, "1TiB", 60_000],
    "machine": [
        {"gpu": "H100-80", "gpus": 8, "cpu": 224, "memory_gib": 2048},
        {"gpu": "L4", "gpus": 1, "cpu": 4, "memory_gib": 16},
        {"gpu": "H1000", "gpus": 16, "cpu": 1, "memory_gib": 1},
        ["g6.12xlarge", "g6.24xlarge"],
    ],
}
_IN_PLATFORMS: dict[str, list[object]] = {
    "prices": [
        {"discount_percent": 20},
        {"machines": {"p5.48xlarge": {"on_demand": 30.0, "spot": 40.0}, "p9": 1.0}},
        {"commitments": [{"machine": "p4d.24xlarge", "nodes": 2, "years": 3}]},
        {"commitments": [{"machine": "g6.12xlarge", "nodes": 9, "usd_per_hour": 1.5}]},
    ],
    "targets": [
        {"utilisation_percent": "65..85"},
        {"idle_percent": 20, "wait_p95_minutes": {"high": 10, "nobody": 5}},
    ],
    "cluster": [{"existing": "prod"}, {"protect": False}],
    "storage": [{"checkpoints": {}}, {"datasets": [{"name": "data", "kind": "efs"}]}],
    "tags": [{"owner": "ml"}],
    "admission": [{"egress_cidrs": ["10.0.0.0/8"]}],
    "apply": ["render", "cluster"],
}


class _Rest:
    """The rarer fields; most platforms have none or one. Drawn separately, so that the others do not change."""

    def __init__(self, rng: random.Random, raw: Raw) -> None:
        self.rng, self.raw = rng, raw

    def add(self) -> None:
        for _ in range(self.rng.choice([0, 0, 1, 1, 2, 5])):
            self.one()

    def one(self) -> None:
        if self.rng.randrange(3) == 0:
            word = self.rng.choice(list(_IN_PLATFORMS))
            self.raw[word] = copy.deepcopy(self.rng.choice(_IN_PLATFORMS[word]))
            return
        word = self.rng.choice(list(_IN_POOLS))
        pool = self.rng.choice(self.raw["pools"])
        pool[word] = copy.deepcopy(self.rng.choice(_IN_POOLS[word]))


_IN_QUEUEING: dict[str, list[object]] = {
    "install": [True, False],
    "start_within_minutes": [1, 30, 10_080],
    "usage_half_life_hours": [1, 168],
    "mig_quota": ["profiles", "slices"],
    "stop_policy": ["hold", "drain"],
    "clusters": [
        [{"name": "west", "secret": "west"}],
        [{"name": "west", "secret": "s"}, {"name": "east", "secret": "s"}],
    ],
}
_IN_TEAMS: dict[str, list[object]] = {
    "cohort": ["labs", "labs", "site", "lab", "lbas"],
    "queues": [{"default": 1.0, "night": 2.0}, {"day": 0.5}],
    "stop_policy": ["hold", "drain"],
    "viewers": [["finance"]],
    "groups": [["engineers"], ["system:serviceaccounts:ci"]],
    "pod_security": ["restricted", "privileged"],
    "limits": [{"cpu": 1}, {"pods": 10, "claims": 2, "storage_gib": 100}, {"memory_gib": 4096}],
    "idle": [{}, {"after_minutes": 10, "dry_run": True}, {"grace_minutes": 1}],
    "egress_cidrs": [["10.0.0.0/8"], ["0.0.0.0/0"], ["169.254.0.0/16", "fd00::/8"]],
    "allowed_images": [["registry.example.org/ml"]],
}
_IN_POOLS_FOR_JOBS: dict[str, list[object]] = {
    "topology": [True, True, False],
    "provisioning": ["check-capacity", "atomic", "queued"],
    "stop_policy": ["hold"],
}
_COHORTS: list[list[Raw]] = [
    [{"name": "labs"}],
    [{"name": "labs", "parent": "site", "weight": 2.0}, {"name": "site"}],
    [{"name": "labs", "borrow": {"a": 4}, "lend": {"a": 2}}],
    [{"name": "labs", "parent": "lab"}, {"name": "lab", "parent": "labs"}],
]


class _Sharing:
    """How teams share, and their limits; a third of the platforms set some of it."""

    def __init__(self, rng: random.Random, raw: Raw) -> None:
        self.rng, self.raw = rng, raw

    def add(self) -> None:
        for _ in range(self.rng.choice([0, 0, 0, 0, 1, 3])):
            self.one()

    def one(self) -> None:
        places = [(self.raw.setdefault("queueing", {}), _IN_QUEUEING)]
        places += [(team, _IN_TEAMS) for team in self.raw["teams"]]
        places += [(pool, _IN_POOLS_FOR_JOBS) for pool in self.raw["pools"]]
        holder, words = self.rng.choice(places)
        word = self.rng.choice(list(words))
        holder[word] = copy.deepcopy(self.rng.choice(words[word]))
        if word == "cohort":
            self.raw["queueing"]["cohorts"] = copy.deepcopy(self.rng.choice(_COHORTS))
