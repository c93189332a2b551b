"""From what the engine shows a policy to plain resources, and from what the rules say to reports.

The engine's server reads a resource again for every policy of a pack, so there are few policies with all
rules inside: of one resource and of all together, to stop and to advise, and one that mends.
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

from gpuyard.findings import Severity, show_path
from gpuyard.rules import RULES
from gpuyard.rules.rule import Rule, Stack
from gpuyard.rules.run import (
    RuleConfiguration,
    RuleOutcome,
    RuleVerdict,
    check_resource,
    check_stack,
)
from pack_remedies import mended
from pack_resources import resources
from pack_settings import Held

Keep = Callable[[RuleOutcome], bool]

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
"""The form of the settings, for the engine; gpuyard.lint.settings reads them, and knows what they mean."""


def stops(outcome: RuleOutcome) -> bool:
    """What ends a preview: a grave violation, or a rule that failed and so has judged nothing."""
    grave = outcome.severity is Severity.ERROR and not outcome.is_advisory
    return outcome.verdict is RuleVerdict.FAILED or (
        grave and outcome.verdict is RuleVerdict.VIOLATED
    )


def advises(outcome: RuleOutcome) -> bool:
    """Everything else that is to be read, what could not be evaluated among it; no choices."""
    said = outcome.verdict is not RuleVerdict.EXEMPTED and not outcome.is_advisory
    return said and not stops(outcome)


def policies(rules: Sequence[Rule] = RULES, held: Held | None = None) -> list[Policy]:
    """Five, with every rule inside. The order matters: the first is asked first, and holds the settings.

    Descriptions are short because the engine repeats them with every report; RULES.md lists the rules.
    """
    held = held or Held(rules)
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
            validate=_of_all(rules, held, stops, held.slips, of_one.inputs),
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
                advises,
                lambda: [*held.over(), *of_one.unknown()],
                of_one.inputs,
            ),
        ),
        ResourceValidationPolicy(
            name="gpuyard-remedies",
            description="GPU rules that mend a resource",
            enforcement_level=EnforcementLevel.DISABLED,
            config_schema=SCHEMA,
            remediate=lambda args: _mend(args, rules, held),
        ),
    ]


def _mend(args: ResourceValidationArgs, rules: Sequence[Rule], held: Held) -> Any:
    """Remedies come before everything else: nothing is mended until it is known what is excepted.

    The first resource of every stack is the stack itself, and with it the first policy has been asked.
    """
    return None if held.shared is None else mended(args, rules, held.of(args))


class _OfOne:
    """Judges a resource once for both policies of one resource, which are asked one after the other."""

    def __init__(self, rules: Sequence[Rule], held: Held) -> None:
        self._held = held
        self._by_kind: dict[str, list[Rule]] = {}
        self._unknown = 0
        self.inputs: dict[str, Any] = {}
        """Of each Kubernetes object what the program gives, by URN."""
        self._last: tuple[object, RuleConfiguration, list[RuleOutcome]] | None = None
        for rule in rules:
            for kind in rule.kinds if rule.check else ():
                self._by_kind.setdefault(kind, []).append(rule)

    def stop(self, args: ResourceValidationArgs, report: ReportViolation) -> None:
        """What ends a preview; settings that cannot be read are said once, with the stack."""
        settings = self._held.first(args)
        if args.resource_type.startswith(KUBERNETES):
            self.inputs[args.urn] = args.props
        found = list(self._judge(args, settings))
        # the engine asks on several threads: what was judged is kept whole, and taken by the one it is of
        self._last = (_mark(args), settings, found)
        _report(found, stops, report)

    def advise(self, args: ResourceValidationArgs, report: ReportViolation) -> None:
        """The rest."""
        settings, last = self._held.of(args), self._last
        if last is not None and last[0] == _mark(args) and last[1] is settings:
            self._last, found = None, last[2]
        else:
            found = list(self._judge(args, settings))
        self._unknown += sum(each.verdict is RuleVerdict.NOT_EVALUATED for each in found)
        _report(found, advises, report)

    def unknown(self) -> list[str]:
        """How much could not be judged since it was last asked: that is not the same as passing."""
        count, self._unknown = self._unknown, 0
        what = "a judgement needs" if count == 1 else f"{count} judgements need"
        line = (
            f"{what} values that are not known yet, and {'was' if count == 1 else 'were'} not made"
        )
        return [f"{line}: hold the state against the rules after the update"] if count else []

    def _judge(
        self, args: ResourceValidationArgs, settings: RuleConfiguration
    ) -> Iterator[RuleOutcome]:
        for resource in resources(args):
            for rule in self._by_kind.get(resource.group_kind, ()):
                if rule.id not in settings.off:
                    yield from check_resource(rule, resource, settings)


def _mark(args: ResourceValidationArgs) -> tuple[object, int]:
    """Of which call this is: one thread asks all policies about a resource before the next."""
    from threading import get_ident

    return getattr(args, "urn", None) or args.name, get_ident()


def _of_all(
    rules: Sequence[Rule],
    held: Held,
    keep: Keep,
    besides: Callable[[], list[str]],
    inputs: Mapping[str, Any],
) -> Callable[[StackValidationArgs, ReportViolation], None]:
    """Judges Kubernetes objects by their inputs, and leaves out those that the program does not have.

    Outputs have fields that controllers write, such as `spec.volumeName` of a bound claim. With `--refresh`
    the engine also shows objects that this update deletes.
    """
    together = [rule for rule in rules if rule.check_stack]

    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        settings = held.of(args)
        for line in besides():
            report(line, None)
        shown = [
            (resource, each.urn)
            for each in args.resources
            if not inputs or each.urn in inputs or not each.resource_type.startswith(KUBERNETES)
            for resource in resources(each, inputs.get(each.urn))
        ]
        urns = {id(resource): urn for resource, urn in shown}
        stack = Stack(tuple(resource for resource, _ in shown))
        for rule in together:
            if rule.id in settings.off or not stack.of(*rule.kinds):
                continue
            for outcome in check_stack(rule, stack, settings):
                if keep(outcome):
                    report(message(outcome), urns.get(id(outcome.resource)))

    return validate


def _report(outcomes: Iterable[RuleOutcome], keep: Keep, report: ReportViolation) -> None:
    for outcome in outcomes:
        if keep(outcome):
            report(message(outcome), None)


def message(outcome: RuleOutcome) -> str:
    """One line: the rule, where, what, and what to do."""
    where = f" {show_path(outcome.path)}" if outcome.path else ""
    if outcome.verdict is RuleVerdict.NOT_EVALUATED:
        return f"{outcome.rule.id} not evaluated: {outcome.problem}"
    parts = [part for part in (outcome.problem, outcome.fix, outcome.note) if part]
    return f"{outcome.rule.id}{where}: {'; '.join(parts)}"
