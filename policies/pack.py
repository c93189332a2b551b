"""Adapter from the policy engine to plain resources, and from rule results to reports.

The engine re-reads a resource for every policy of a pack, so there are few policies with all rules inside:
one resource and all together, mandatory and advisory, and one that remediates.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

from gpuyard_core.findings import Severity
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import Rule, Stack
from gpuyard_lint.rules.run import (
    Finding,
    FindingState,
    RuleConfiguration,
    check_resource,
    check_stack,
)
from pack_remedies import remediated_properties
from pack_resources import resources
from pack_settings import PackSettings

Keep = Callable[[Finding], bool]

KUBERNETES = "kubernetes:"
SCHEMA = PolicyConfigSchema(
    properties={
        "levels": {
            "type": "object",
            "additionalProperties": {"enum": ["off", "advisory", "mandatory"]},
        },
        "parameters": {"type": "object", "additionalProperties": {"type": "object"}},
        "exceptions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    name: {"type": "string", "minLength": 1}
                    for name in ("rule", "resource", "reason", "expires")
                },
                "required": ["rule", "resource", "reason", "expires"],
                "additionalProperties": False,
            },
        },
    },
)
"""The schema of the settings for the engine; gpuyard_lint.settings reads and validates them."""


def stops_preview(outcome: Finding) -> bool:
    """Whether it stops a preview: an error, or a rule that failed and so checked nothing."""
    is_error = outcome.diagnostic.severity is Severity.ERROR and not outcome.is_advisory
    return outcome.state is FindingState.FAILED or (is_error and outcome.state is FindingState.OPEN)


def is_advice(outcome: Finding) -> bool:
    """Whether it is advice: all other results, including not evaluated, except advisory choices."""
    said = outcome.state is not FindingState.EXEMPTED and not outcome.is_advisory
    return said and not stops_preview(outcome)


def policies(rules: Sequence[Rule] = RULES, held: PackSettings | None = None) -> list[Policy]:
    """Five policies with all rules. The first in order runs first and reads the settings.

    Descriptions are short because the engine repeats them with every report; RULES.md lists the rules.
    """
    held = held or PackSettings(rules)
    of_one = _OfOne(rules, held)
    return [
        ResourceValidationPolicy(
            name="gpuyard",
            description="GPU rules on one resource",
            enforcement_level=EnforcementLevel.MANDATORY,
            config_schema=SCHEMA,
            validate=of_one.stop,
        ),
        StackValidationPolicy(
            name="gpuyard-stack",
            description="GPU rules on all resources together",
            enforcement_level=EnforcementLevel.MANDATORY,
            config_schema=SCHEMA,
            validate=_of_all(rules, held, stops_preview, held.invalid_settings, of_one.inputs),
        ),
        ResourceValidationPolicy(
            name="gpuyard-advice",
            description="GPU advice on one resource",
            enforcement_level=EnforcementLevel.ADVISORY,
            config_schema=SCHEMA,
            validate=of_one.advise,
        ),
        StackValidationPolicy(
            name="gpuyard-stack-advice",
            description="GPU advice on all resources together",
            enforcement_level=EnforcementLevel.ADVISORY,
            config_schema=SCHEMA,
            validate=_of_all(
                rules,
                held,
                is_advice,
                lambda: [*held.expired_exceptions(), *of_one.unknown()],
                of_one.inputs,
            ),
        ),
        ResourceValidationPolicy(
            name="gpuyard-remedies",
            description="GPU rules that remediate a resource",
            enforcement_level=EnforcementLevel.DISABLED,
            config_schema=SCHEMA,
            remediate=lambda args: _remediate(args, rules, held),
        ),
    ]


def _remediate(args: ResourceValidationArgs, rules: Sequence[Rule], held: PackSettings) -> Any:
    """Remediations run before everything else, but only after the exceptions are known.

    The first resource of every stack is the stack itself, for which the first policy has run.
    """
    return None if held.shared is None else remediated_properties(args, rules, held.of(args))


class _OfOne:
    """Checks a resource once for both policies of one resource, which run one after the other."""

    def __init__(self, rules: Sequence[Rule], held: PackSettings) -> None:
        self._held = held
        self._by_kind: dict[str, list[Rule]] = {}
        self._unknown = 0
        self.inputs: dict[str, Any] = {}
        """The resources that the program registers, by URN: a Kubernetes object with its inputs."""
        self._last: tuple[object, RuleConfiguration, list[Finding]] | None = None
        for rule in rules:
            for kind in rule.kinds if rule.check else ():
                self._by_kind.setdefault(kind, []).append(rule)

    def stop(self, args: ResourceValidationArgs, report: ReportViolation) -> None:
        """Report what stops a preview; invalid settings are reported once, with the stack."""
        settings = self._held.first(args)
        is_object = args.resource_type.startswith(KUBERNETES)
        self.inputs[args.urn] = args.props if is_object else None
        found = list(self._judge(args, settings))
        # the engine calls on several threads: results are stored whole, and read by the same call
        self._last = (_mark(args), settings, found)
        _report(found, stops_preview, report)

    def advise(self, args: ResourceValidationArgs, report: ReportViolation) -> None:
        """Report all other results."""
        settings, last = self._held.of(args), self._last
        if last is not None and last[0] == _mark(args) and last[1] is settings:
            self._last, found = None, last[2]
        else:
            found = list(self._judge(args, settings))
        self._unknown += sum(each.state is FindingState.NOT_EVALUATED for each in found)
        _report(found, is_advice, report)

    def unknown(self) -> list[str]:
        """How many checks did not run since the last call: not evaluated is not passed."""
        count, self._unknown = self._unknown, 0
        what = "1 check needs" if count == 1 else f"{count} checks need"
        line = f"{what} values that are known only after the update, and did not run"
        return [f"{line}: lint the state after the update"] if count else []

    def _judge(
        self, args: ResourceValidationArgs, settings: RuleConfiguration
    ) -> Iterator[Finding]:
        for resource in resources(args):
            for rule in self._by_kind.get(resource.group_kind, ()):
                if rule.id not in settings.off:
                    yield from check_resource(rule, resource, settings)


def _mark(args: ResourceValidationArgs) -> tuple[object, int]:
    """Identifies the call: one thread runs all policies on a resource before the next."""
    from threading import get_ident

    return getattr(args, "urn", None) or args.name, get_ident()


def _of_all(
    rules: Sequence[Rule],
    held: PackSettings,
    keep: Keep,
    besides: Callable[[], list[str]],
    inputs: Mapping[str, Any],
) -> Callable[[StackValidationArgs, ReportViolation], None]:
    """Checks the resources that the program registers; Kubernetes objects by their inputs.

    Outputs have fields that controllers write, such as `spec.volumeName` of a bound claim. With `--refresh`
    the engine also shows resources that the program reads (`aws.eks.Cluster.get`), which have another owner,
    and those that this update deletes. It shows neither to a policy of one resource.
    """
    together = [rule for rule in rules if rule.check_stack]

    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        settings = held.of(args)
        for line in besides():
            report(line, None)
        shown = [
            (resource, each.urn)
            for each in args.resources
            if not inputs or each.urn in inputs
            for resource in resources(each, inputs.get(each.urn))
        ]
        urns = {id(resource): urn for resource, urn in shown}
        stack = Stack(tuple(resource for resource, _ in shown))
        for rule in together:
            if rule.id in settings.off or not stack.resources_of_kinds(*rule.kinds):
                continue
            for outcome in check_stack(rule, stack, settings):
                if keep(outcome):
                    report(message(outcome), urns.get(id(outcome.resource)))

    return validate


def _report(outcomes: Iterable[Finding], keep: Keep, report: ReportViolation) -> None:
    for outcome in outcomes:
        if keep(outcome):
            report(message(outcome), None)


def message(outcome: Finding) -> str:
    """One line: the rule, where, what, and what to do."""
    found = outcome.diagnostic
    if outcome.state is FindingState.NOT_EVALUATED:
        return f"{found.id} not evaluated: {found.problem}"
    where = f" {found.location}" if found.location else ""
    note = f"; {outcome.note}" if outcome.note else ""
    return f"{found.id}{where}: {found.problem_and_fix}{note}"
