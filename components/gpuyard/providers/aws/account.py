"""The queries to an AWS account in order: the identity, then all others, then those that depend on results."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight import aws
from gpuyard.preflight.probes import (
    UNEXPECTED_FORMAT,
    AnswersByName,
    Probe,
    ProbeAnswer,
    ProbeResult,
    RunProbes,
    items,
    probe_result,
    skip_all,
    skipped,
)
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.place import aws_location
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.render.permissions.policies import (
    ANY,
    AccountPlace,
    AwsPermissions,
    PermissionRequest,
    PolicyCondition,
    documents_of,
    required_actions,
    statements_of,
)
from gpuyard.spec.region import CloudAccount
from gpuyard_core.findings import Fix, format_list, warning


def aws_needs(plan: PlatformPlan, graph: CloudGraph, account: str = ANY) -> list[PermissionRequest]:
    """Each action that a plan on AWS needs; without an account, ARNs match any account."""
    partition = aws_location(plan).partition
    where = AccountPlace(
        platform=plan.name,
        partition=partition if isinstance(partition, str) else ANY,
        region=plan.region or ANY,
        account=account,
    )
    return required_actions(graph, where)


def aws_permissions(plan: PlatformPlan, account: str = ANY) -> AwsPermissions:
    """The policies of a plan on AWS, in one account or in any."""
    statements = statements_of(aws_needs(plan, aws_graph(plan), account))
    return AwsPermissions(tuple(statements), tuple(documents_of(statements)))


# The first round checks all actions on all resources. Denied ones may still be allowed on the stack's own
# resources and with its tags, so the second round checks them by resource and condition.

FIRST, ABOUT = "permissions", "permissions of the signed-in identity"
_SESSION = re.compile(r"arn:([\w-]+):sts::(\d{12}):assumed-role/([^/]+)/.+")
_PRINCIPAL = re.compile(r"arn:[\w-]+:iam::\d{12}:(user|role)/.+")


def caller_principal(caller: Any) -> str:
    """The principal for the simulator: a user, or the role of a session; else empty."""
    arn = str(caller.get("Arn", "")) if isinstance(caller, Mapping) else ""
    if session := _SESSION.fullmatch(arn):
        partition, account, role = session.groups()
        return f"arn:{partition}:iam::{account}:role/{role}"
    return arn if _PRINCIPAL.fullmatch(arn) else ""


def required_permissions(
    plan: PlatformPlan, graph: CloudGraph, who: str
) -> list[PermissionRequest]:
    """The permissions that the plan needs in the signed-in account, each once."""
    return list(dict.fromkeys(aws_needs(plan, graph, who.split(":")[4])))


def first_question(needed: Sequence[PermissionRequest], who: str) -> Probe:
    """The query for all actions on all resources."""
    actions = sorted({need.action for need in needed})
    return Probe(FIRST, ABOUT, (*_simulate(who), "--action-names", *actions))


def _simulate(who: str) -> tuple[str, ...]:
    return (
        "aws",
        "iam",
        "simulate-principal-policy",
        "--output",
        "json",
        "--policy-source-arn",
        who,
    )


def further_questions(
    needed: Sequence[PermissionRequest], who: str, first: ProbeAnswer
) -> list[Probe]:
    """Queries for the denied actions, by resource and condition."""
    denied = _denied(items(first.value, "EvaluationResults") or [])
    groups: dict[tuple[tuple[str, ...], PolicyCondition], list[str]] = {}
    for need in needed:
        if need.action in denied and (need.condition or need.arns != (ANY,)):
            groups.setdefault((need.arns, need.condition), []).append(need.action)
    return [
        Probe(
            f"{FIRST} {number}",
            ABOUT,
            (
                *(*_simulate(who), "--action-names", *sorted(set(actions))),
                *("--resource-arns", *arns),
                *(("--context-entries", *_context(condition)) if condition else ()),
            ),
        )
        for number, ((arns, condition), actions) in enumerate(sorted(groups.items()), start=1)
    ]


def _context(condition: PolicyCondition) -> list[str]:
    return [
        f"ContextKeyName={key},ContextKeyValues={values[0]},ContextKeyType=string"
        for _, key, values in condition
    ]


def _denied(results: list[Any]) -> set[str]:
    return {str(each.get("EvalActionName")) for each in results if not _is_allowed(each)}


def _is_allowed(result: Mapping[str, Any]) -> bool:
    """Allowed on at least one resource: an action applies only to some resource types."""
    by_resource = items(result, "ResourceSpecificResults") or []
    here = [each.get("EvalResourceDecision") for each in by_resource]
    return "allowed" in (result.get("EvalDecision"), *here)


def permission_findings(questions: list[Probe], answers: AnswersByName) -> ProbeResult:
    """Findings after both rounds."""
    first, *rest = questions
    if answers[first.name].failure_reason or answers[first.name].error:
        why = answers[first.name].failure_reason or answers[first.name].error
        return skipped(ABOUT, why)
    results = items(answers[first.name].value, "EvaluationResults")
    if results is None:
        return skipped(ABOUT, UNEXPECTED_FORMAT)
    denied, silent = _denied(results), ProbeResult()
    for question in rest:
        result = items(answers[question.name].value, "EvaluationResults")
        if result is None:
            why = (
                answers[question.name].failure_reason
                or answers[question.name].error
                or UNEXPECTED_FORMAT
            )
            silent = skipped(ABOUT, why)
        denied -= {str(each.get("EvalActionName")) for each in result or () if _is_allowed(each)}
    if silent.skipped:
        return silent
    if not denied:
        return probe_result(said=f"{first.words[6]} is allowed all {len(results)} actions")
    return probe_result(_finding(first.words[6], denied))


def _finding(who: str, denied: set[str]) -> Any:
    return warning(
        "live.denied",
        (),
        f"{who} is denied {len(denied)} of the actions that the stack needs: {format_list(sorted(denied))}",
        given=who,
        fix=Fix(message="attach the policies that `gpuyard permissions` prints"),
    )


def probe_account(plan: PlatformPlan, ask: RunProbes, signed: CloudAccount) -> ProbeResult:
    """Query the account of a plan on AWS, with the profile of the stack if it sets one."""
    return _probe(plan, _with(ask, "--profile", signed.profile) if signed.profile else ask)


def _with(ask: RunProbes, *words: str) -> RunProbes:
    """Add arguments to each query."""
    return lambda asked: ask([replace(each, words=(*each.words, *words)) for each in asked])


def _probe(plan: PlatformPlan, ask: RunProbes) -> ProbeResult:
    caller, graph = aws.caller_probe(plan), aws_graph(plan)
    answer = ask([caller])[caller.name]
    ahead = PlannedAccount(plan, graph, aws.account_of(answer.value))
    questions = aws.aws_probes(ahead)
    if answer.failure_reason or answer.error:
        return skip_all(questions, answer.failure_reason or answer.error, ABOUT)
    who = caller_principal(answer.value)
    needed = required_permissions(plan, graph, who) if who else []
    first = [first_question(needed, who)] if who else []
    answers = ask([*questions, *first])
    result = aws.aws_findings(ahead, questions, answers)
    if not first:
        why = "the IAM policy simulator accepts users and roles only, and the signed-in identity is neither"
        return result + skipped(ABOUT, why, is_expected=True)
    more = further_questions(needed, who, answers[FIRST])
    return result + permission_findings([*first, *more], {**answers, **ask(more)})
