"""Stack values with sane defaults: a test sets only what it checks."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard.plan import plan, plan_or_raise
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.read import platform_spec
from gpuyard_core.findings import Diagnostic, Path

Raw = dict[str, Any]

SYSTEM: Raw = {"machine": "m7i.xlarge", "nodes": 2}
CUT: Raw = {"mig": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}
"""A layout that fills an A100-40."""

UNCLAIMED = {
    f"{name}.nvidia.com.deviceclass.resource.k8s.io/devices": 0
    for name in ("gpu", "mig", "vfio.gpu")
}
"""The GPU claim quota of a namespace without claims."""


def pool(name: str = "train", **rest: Any) -> Raw:
    """A pool of four nodes with eight H100 each."""
    return {"name": name, "machine": "p5.48xlarge", "nodes": 4, **rest}


def cut_pool(name: str = "serve", **rest: Any) -> Raw:
    """A pool of one node whose eight A100-40 have the same MIG layout."""
    return pool(name, **{"machine": "p4d.24xlarge", "nodes": 1, "sharing": CUT, **rest})


def shared_pool(name: str = "dev", **rest: Any) -> Raw:
    """A pool of one node whose four L4 serve four pods each."""
    return pool(
        name, **{"machine": "g6.12xlarge", "nodes": 1, "sharing": {"time_slicing": 4}, **rest}
    )


def team(name: str = "vision", **rest: Any) -> Raw:
    """A team without guarantee; `guarantee=` is what most tests add."""
    return {"name": name, **rest}


def shape(name: str = "job", **rest: Any) -> Raw:
    """A workload; `gpus_per_node=` or `per_pod=` must be added."""
    return {"name": name, **rest}


def platform(
    pools: Iterable[Raw] | None = None, teams: Iterable[Raw] = (), **rest: Any
) -> dict[str, Any]:
    """A platform on your own cluster; a cloud gets system nodes unless `system=None`."""
    raw: Raw = {"name": "lab", "cloud": "none", "kubernetes": "1.36"}
    if rest.get("cloud") == "aws":
        raw["system"] = SYSTEM
    elif rest.get("cloud") == "gcp":
        raw["system"] = {"machine": "e2-standard-4", "nodes": 3}
    raw |= {"pools": [pool()] if pools is None else list(pools), "teams": list(teams), **rest}
    return {key: value for key, value in raw.items() if value is not None}


def spec_of(raw: Mapping[str, Any]) -> PlatformSpec:
    """The spec; fails with every finding when it is invalid."""
    return platform_spec(dict(raw))


def plan_of(raw: Mapping[str, Any]) -> PlatformPlan:
    """The plan; fails with every finding when it is rejected."""
    return plan_or_raise(spec_of(raw))


YOURS = frozenset({"cloud.yours", "scaling.yours"})
"""Findings that every platform in a cloud has; tests/plan/test_unimplemented.py checks them."""


def findings(raw: Mapping[str, Any]) -> list[Diagnostic]:
    """All findings of this platform, without those that every cloud platform has."""
    return [each for each in plan(spec_of(raw))[1] if each.id not in YOURS]


def ids(raw: Mapping[str, Any]) -> list[str]:
    """The ids of all findings."""
    return [f.id for f in findings(raw)]


def only(raw: Mapping[str, Any]) -> Diagnostic:
    """The one finding of the plan."""
    result = findings(raw)
    assert len(result) == 1, [str(f) for f in result]
    return result[0]


def parts(finding: Diagnostic) -> tuple[str, Path, str, str, str]:
    """A finding without its fix, for comparisons."""
    return finding.id, finding.path, finding.problem, finding.given, finding.allowed


def stack_file(raw: Mapping[str, Any], config: Mapping[str, str] | None = None) -> bytes:
    """A stack file with this platform and further configuration."""
    import yaml

    return yaml.safe_dump(
        {"config": {**(config or {}), "gpuyard:platform": dict(raw)}}, sort_keys=False
    ).encode()
