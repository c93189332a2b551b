"""The plan as a whole: everything at once, None exactly when refused, the same for the same meaning."""

import pytest

import gpuyard
from gpuyard.plan import plan, plan_or_raise
from gpuyard.plan.records.late import UnresolvedOutput, resolve_outputs, unresolved_output_names
from gpuyard.plan.renames import spec_digest
from gpuyard.render.platform import platform_objects
from gpuyard_core.errors import (
    EnvironmentMissing,
    GpuYardError,
    OutputValueMissing,
    PlanRejected,
    SpecError,
    UsageError,
)
from gpuyard_core.findings import (
    Diagnostic,
    Fix,
    Severity,
    format_findings,
    has_errors,
    show_path,
    sort_findings,
)
from kit.stacks import SYSTEM, findings, ids, only, parts, plan_of, platform, pool, spec_of, team


@pytest.mark.parametrize("version", ["1.33", "1.34", "1.35", "1.36", "1.37"])
def test_supported_kubernetes_minors_are_planned(version):
    assert plan_of(platform(kubernetes=version)).kubernetes == version


@pytest.mark.parametrize(
    ("version", "meant"),
    [("1.32", "1.36"), ("1.38", "1.36"), ("1.35.1", "1.35"), ("latest", "1.36")],
)
def test_other_kubernetes_versions_are_refused(version, meant):
    finding = only(platform(kubernetes=version))
    assert parts(finding) == (
        "kubernetes.unsupported",
        ("kubernetes",),
        "the pinned components do not support this Kubernetes minor version",
        version,
        '"1.33", "1.34", "1.35", "1.36", "1.37"',
    )
    assert (finding.fix.message, finding.fix.value) == (f'write "{meant}"', meant)


@pytest.mark.parametrize(
    ("cloud", "machine", "gpu"),
    [("aws", "m7i.xlarge", "p5.48xlarge"), ("gcp", "e2-standard-4", "a2-highgpu-8g")],
)
def test_a_cloud_needs_system_nodes(cloud, machine, gpu):
    finding = only(platform([pool(machine=gpu)], cloud=cloud, system=None))
    assert parts(finding) == (
        "system.missing",
        ("system",),
        f"controllers need nodes without GPUs, and on {cloud} the cluster starts without nodes",
        "",
        "system: {machine: TYPE, nodes: 2..3}",
    )
    assert finding.fix.value == {"machine": machine, "nodes": "2..3"}


@pytest.mark.parametrize("cloud", ["none", "simulated"])
def test_a_cluster_that_exists_needs_none(cloud):
    assert findings(platform(cloud=cloud)) == []


def test_a_system_machine_is_looked_up_and_one_that_is_unknown_will_do():
    finding = only(platform(cloud="aws", system={**SYSTEM, "machine": "m7i.xlrge"}))
    assert (finding.id, finding.path, finding.fix.value) == (
        "system.machine_unknown",
        ("system", "machine"),
        "m7i.xlarge",
    )
    plan = plan_of(platform(cloud="aws", system={**SYSTEM, "machine": "x99.12xlarge"}))
    assert (plan.system.machine, plan.system.minimum_usd_per_hour) == ("x99.12xlarge", None)
    assert plan.bill.unknown == ("system",)
    finding = only(platform(cloud="aws", system={**SYSTEM, "machine": "e2-standard-4"}))
    assert (finding.id, finding.path) == ("pool.machine_cloud", ("system", "machine"))


def test_a_system_machine_is_described_by_what_is_in_it():
    described = {**SYSTEM, "machine": {"cpu": 8, "memory_gib": 32}}
    assert plan_of(platform(cloud="aws", system=described)).system.machine == "m7i.2xlarge"
    raw = platform(cloud="none", system=described)
    assert plan_of(raw).system.usd_per_node is None
    priced = plan_of(raw | {"prices": {"machines": {"8cpu-32gib": 0.5}}})
    assert (priced.system.machine, priced.system.usd_per_node) == ("8cpu-32gib", 0.5)


def test_only_a_cluster_that_a_deployment_makes_has_no_name_before():
    assert plan_of(platform(cloud="aws")).cluster_name == UnresolvedOutput("cluster.name")
    assert plan_of(platform()).cluster_name == "lab"
    assert plan_of(platform(cloud="simulated")).cluster_name == "lab"
    assert plan_of(platform(cluster={"existing": "blue"})).cluster_name == "blue"


@pytest.mark.parametrize(("cloud", "gpu"), [("aws", "p5.48xlarge"), ("gcp", "a2-highgpu-8g")])
def test_a_cluster_that_exists_has_nodes_for_the_controllers(cloud, gpu):
    raw = platform([pool(machine=gpu)], cloud=cloud, system=None, cluster={"existing": "blue"})
    found = plan_of(raw)
    assert (found.cluster_name, found.system) == ("blue", None)
    assert unresolved_output_names(platform_objects(found)) == set()
    without = platform([pool(machine=gpu)], cloud=cloud, system=None, cluster={"protect": True})
    assert "system.missing" in ids(without)


def test_everything_wrong_is_said_at_once():
    raw = platform(
        [pool(machine="??"), pool("b", sharing={"mig": {"3g.40gb": 3}}), pool("c")],
        [
            team("default"),
            team(
                guarantee={"c": 99, "zz": 1},
                lend={"c": 99},
                borrow={"c": 99},
                budget_usd_per_month=1,
            ),
        ],
        kubernetes="1.1",
        cloud="aws",
        system=None,
        budget={"max_usd_per_hour": 1},
        shapes=[{"name": "x", "pool": "c", "gpus_per_node": 99}],
    )
    assert ids(raw) == [
        "budget.worst",
        "kubernetes.unsupported",
        "pool.machine_unknown",
        "mig.placement",
        "shape.cannot_start",
        "system.missing",
        "team.reserved",
        "budget.team",
        "quota.over_capacity",
        "quota.unknown_pool",
        "lend.over_guarantee",
        "team.nothing",
        "borrow.never",
        "checks.waiting",
        "checks.waiting",
    ]


def test_a_refused_platform_is_an_error_that_lists_every_finding():
    raw = platform(teams=[team(guarantee={"train": 33})])
    with pytest.raises(PlanRejected) as caught:
        plan_or_raise(spec_of(raw))
    assert str(caught.value) == (
        "the platform lab is rejected:\n"
        "error quota.over_capacity teams[0].guarantee.train: train has 32 nvidia.com/gpu with "
        "all 4 nodes (8 a node)\n  given: 33 nvidia.com/gpu\n  allowed: 32 nvidia.com/gpu\n  fix: "
        "guarantee 32, or let train have 5 nodes"
    )


def test_a_plan_exists_exactly_when_nothing_refuses():
    assert plan(spec_of(platform(teams=[team()])))[0] is not None
    assert plan(spec_of(platform(kubernetes="1.1")))[0] is None


def test_a_digest_is_that_of_the_meaning():
    short = spec_of(platform([pool(labels={"a": "1", "b": "2"})], [team(guarantee={"train": 1})]))
    long = spec_of(
        platform(
            [pool(labels={"b": "2", "a": "1"}, capacity=["on-demand"], nodes="4..4", sharing={})],
            [team(guarantee={"train": 1}, weight=1.0)],
            queueing={},
        )
    )
    assert spec_digest(short) == spec_digest(long)
    assert len(spec_digest(short)) == 12
    assert spec_digest(short) != spec_digest(spec_of(platform()))


def test_late_values_are_bound_wherever_they_stand():
    tree = {
        "a": [UnresolvedOutput("x"), (1, UnresolvedOutput("y"))],
        "b": UnresolvedOutput("x"),
        "c": "z",
    }
    assert resolve_outputs(tree, str.upper) == {"a": ["X", [1, "Y"]], "b": "X", "c": "z"}
    assert unresolved_output_names(tree) == {"x", "y"}
    assert unresolved_output_names({"a": 1}) == set()


# ── findings ───────────────────────────────────────────────────────────────────────────────────────


def finding(kind="a.b", severity=Severity.ERROR, path=(), **rest):
    return Diagnostic(id=kind, severity=severity, path=path, problem="wrong", **rest)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "(platform)"),
        (("pools", 1, "sharing", "mig"), "pools[1].sharing.mig"),
        (("a", 0, 1), "a[0][1]"),
    ],
)
def test_a_path_is_written_as_people_write_it(path, text):
    assert show_path(path) == finding(path=path).where == text


def test_a_finding_shows_only_what_it_has():
    assert str(finding()) == "(platform): wrong"
    whole = finding(given="g", allowed="x", fix=Fix(message="do"))
    assert str(whole) == "(platform): wrong\n  given: g\n  allowed: x\n  fix: do"


def test_findings_stand_gravest_first_and_then_in_the_order_of_their_places():
    note = finding("n", Severity.INFO, ("a",))
    warn = finding("w", Severity.WARNING, ("a",))
    late, early = finding("l", path=("pools", 10)), finding("e", path=("pools", 9))
    root, other = finding("r"), finding("d", path=("pools", 9))
    given = [note, warn, late, early, other, root]
    assert [f.id for f in sort_findings(given)] == ["r", "d", "e", "l", "w", "n"]
    assert format_findings(given).splitlines()[0] == "error r (platform): wrong"
    assert len(format_findings(given).splitlines()) == 6


def test_the_gravest_finding_decides():
    warn = finding(severity=Severity.WARNING)
    assert not has_errors([warn])
    assert has_errors([warn, finding()])
    assert [s.rank for s in (Severity.INFO, Severity.WARNING, Severity.ERROR)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (GpuYardError, 1),
        (UsageError, 2),
        (OutputValueMissing, 2),
        (SpecError, 3),
        (PlanRejected, 3),
        (EnvironmentMissing, 4),
    ],
)
def test_an_error_ends_a_command_with_its_code(error, code):
    assert error.exit_code == code
    assert issubclass(error, GpuYardError)


# ── the package ────────────────────────────────────────────────────────────────────────────────────


def test_the_package_offers_exactly_its_list():
    assert dir(gpuyard) == sorted(gpuyard.__all__) == sorted(gpuyard._HOMES)
    for name in gpuyard.__all__:
        assert getattr(gpuyard, name).__name__ == name


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'gpuyard' has no attribute 'Plan'"):
        _ = gpuyard.Plan
