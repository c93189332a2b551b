"""The pack as an adapter: proxies become plain values, unknowns are said, a broken rule is named."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import UNKNOWN, Resource, Rule, Violation

STOPS, STACK_STOPS, ADVISES, STACK_ADVISES = range(4)
CLUSTER_QUEUE = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"


@pytest.fixture
def pack() -> Any:
    import pack

    return pack


def shown(props: dict[str, Any]) -> Any:
    """Properties as the engine shows them to a policy: behind proxies that guard unknown values."""
    from pulumi_policy.proxy import unknown_checking_proxy

    return unknown_checking_proxy(props)


def run(pack: Any, index: int, props: Any, kind: str = CLUSTER_QUEUE) -> list[str]:
    reports: list[str] = []
    args = SimpleNamespace(resource_type=kind, name="q", urn="q", props=props, get_config=dict)
    pack.policies()[index].validate(args, lambda text, _urn: reports.append(text))
    return reports


def test_a_violation_names_rule_path_and_fix(pack):
    reports = run(pack, 0, shown({"apiVersion": "kueue.x-k8s.io/v1beta2", "spec": {}}))
    assert len(reports) == 1
    assert reports[0].startswith(
        "GPU-TEN-04 spec.namespaceSelector: without a namespaceSelector no namespace may"
    )


def test_what_can_be_defended_is_not_said_in_a_preview(pack):
    props = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "spec": {
            "cohortName": "all",
            "namespaceSelector": {},
            "resourceGroups": [
                {"flavors": [{"resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]}]}
            ],
        },
    }
    assert run(pack, STOPS, shown(props)) == run(pack, ADVISES, shown(props)) == []


def test_resources_of_other_packages_are_not_looked_at(pack):
    assert run(pack, 0, shown({}), kind="aws:sqs/queue:Queue") == []
    assert run(pack, 0, shown({}), kind="gpuyard:index:Platform") == []


def test_core_kinds_lose_the_core_prefix(pack):
    props = shown({"spec": {"hard": {"limits.nvidia.com/gpu": 8.0}}})
    assert run(pack, 0, props, kind="kubernetes:core/v1:ResourceQuota")[0].startswith("GPU-TEN-02")


def test_a_sound_queue_passes_both_policies(pack):
    props = shown(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "spec": {"namespaceSelector": {"matchLabels": {"a": "b"}}},
        }
    )
    assert run(pack, 0, props) == run(pack, ADVISES, props) == []


def test_not_evaluated_is_said_and_never_counts_as_passed(pack):
    from pulumi.runtime.rpc import UNKNOWN as WIRE_UNKNOWN

    props = shown(
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "spec": {"namespaceSelector": WIRE_UNKNOWN}}
    )
    assert run(pack, 0, props) == []
    assert run(pack, ADVISES, props) == [
        "GPU-TEN-04 not evaluated: it needs a value that is not known yet"
    ]


def run_rule(pack: Any, rule: Rule, index: int) -> list[str]:
    reports: list[str] = []
    args = SimpleNamespace(
        resource_type="kubernetes:core/v1:Pod",
        name="p",
        urn="p",
        props=shown({}),
        get_config=dict,
    )
    pack.policies([rule])[index].validate(args, lambda text, _urn: reports.append(text))
    return reports


def test_a_violation_before_an_unknown_is_still_reported(pack):
    def check(_: Resource, __: Any) -> Iterator[Violation]:
        yield Violation(("spec",), "first", "mend it")
        from gpuyard_core.manifests.fields import known_value

        known_value(UNKNOWN)

    assert run_rule(pack, _rule(check), STOPS) == ["X-1 spec: first; mend it"]
    assert run_rule(pack, _rule(check), ADVISES) == [
        "X-1 not evaluated: it needs a value that is not known yet"
    ]


def test_a_rule_that_fails_is_named_instead_of_ending_the_preview(pack):
    def check(_: Resource, __: Any) -> Iterator[Violation]:
        raise ZeroDivisionError("by zero")
        yield

    said = "X-1: the rule failed: ZeroDivisionError: by zero; please report it"
    assert run_rule(pack, _rule(check), STOPS) == [said]
    assert run_rule(pack, _rule(check), ADVISES) == []


def test_advice_does_not_stop(pack):
    def check(_: Resource, __: Any) -> Iterator[Violation]:
        yield Violation((), "could be better", "")

    mild = replace(_rule(check), severity=Severity.WARNING)
    assert run_rule(pack, mild, STOPS) == []
    assert run_rule(pack, mild, ADVISES) == ["X-1: could be better"]


def test_configuration_inside_a_resource_is_looked_at(pack):
    def check(resource: Resource, _: Any) -> Iterator[Violation]:
        yield Violation((), resource.name, "")

    rule = replace(_rule(check), kinds=("config:mig-parted",))
    data = {"a.yaml": "version: v1\nmig-configs: {}\n"}
    args = SimpleNamespace(
        resource_type="kubernetes:core/v1:ConfigMap",
        name="c",
        urn="c",
        props={"data": data},
        get_config=dict,
    )
    reports: list[str] = []
    pack.policies([rule])[STOPS].validate(args, lambda text, _urn: reports.append(text))
    assert reports == ["X-1: a.yaml"]


def stack_of(*kinds: str) -> SimpleNamespace:
    protect = SimpleNamespace(protect=True)
    return SimpleNamespace(
        get_config=dict,
        resources=[
            SimpleNamespace(resource_type=kind, name=f"n{i}", props={}, urn=f"urn{i}", opts=protect)
            for i, kind in enumerate(kinds)
        ],
    )


def test_a_rule_of_the_whole_stack_names_the_resource_it_is_about(pack):
    def check(stack: Any, _: Any) -> Iterator[Violation]:
        last = stack.resources_of_kinds("Pod")[-1]
        yield Violation((), f"{len(stack.resources)} and {last.protected}", "", last)

    rule = replace(_rule(None), check=None, check_stack=check)
    reports: list[tuple[str, Any]] = []
    pod = "kubernetes:core/v1:Pod"
    for index in (STACK_STOPS, STACK_ADVISES):
        validate = pack.policies([rule])[index].validate
        validate(stack_of(pod, "pulumi:pulumi:Stack", pod), lambda *said: reports.append(said))
        validate(stack_of("kubernetes:core/v1:Secret"), lambda *said: reports.append(said))
    assert reports == [("X-1: 2 and True", "urn2")]


def test_lists_numbers_and_unknown_entries_become_plain():
    from pulumi.runtime.rpc import UNKNOWN as WIRE_UNKNOWN

    import pack_resources

    assert pack_resources.plain(shown({"a": [1.0, 2.5, {"b": "c"}], "d": WIRE_UNKNOWN})) == {
        "a": [1, 2.5, {"b": "c"}],
        "d": UNKNOWN,
    }


def test_what_the_engine_repeats_with_every_report_is_short(pack):
    assert max(len(policy.description) for policy in pack.policies()) < 40


def _rule(check: Any) -> Rule:
    return Rule(
        id="X-1",
        title="t",
        severity=Severity.ERROR,
        why="w",
        fix="f",
        sources=("s",),
        kinds=("Pod",),
        check=check,
    )
