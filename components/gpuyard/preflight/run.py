"""Run the queries in order: the identity, then all others, then those that depend on results."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight import aws, gcp, permissions
from gpuyard.preflight.probes import AnswersByName, Probe, ProbeResult, SkippedProbe
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.spec.region import ENVIRONMENT, CloudAccount

RunProbes = Callable[[Sequence[Probe]], AnswersByName]
"""Runs queries concurrently, and returns a result for each."""


def run_probes(
    plan: PlatformPlan, ask: RunProbes, signed: CloudAccount = ENVIRONMENT
) -> ProbeResult:
    """Query the account of a plan on AWS or Google Cloud."""
    if plan.cloud.value == "aws":
        return _aws(plan, ask if not signed.profile else _with(ask, "--profile", signed.profile))
    return _gcp(plan, ask, signed.project)


def _with(ask: RunProbes, *words: str) -> RunProbes:
    """Add arguments to each query."""
    return lambda asked: ask([replace(each, words=(*each.words, *words)) for each in asked])


def _aws(plan: PlatformPlan, ask: RunProbes) -> ProbeResult:
    caller, graph = aws.caller_probe(plan), aws_graph(plan)
    answer = ask([caller])[caller.name]
    ahead = PlannedAccount(plan, graph, aws.account_of(answer.value))
    questions = aws.aws_probes(ahead)
    if answer.failure_reason or answer.error:
        return _skip_all(questions, answer.failure_reason or answer.error, permissions.ABOUT)
    who = permissions.caller_principal(answer.value)
    needed = permissions.required_permissions(plan, graph, who) if who else []
    first = [permissions.first_question(needed, who)] if who else []
    answers = ask([*questions, *first])
    result = aws.aws_findings(ahead, questions, answers)
    if not first:
        why = "the IAM policy simulator accepts users and roles only, and the signed-in identity is neither"
        return result + ProbeResult(
            skipped=(SkippedProbe(permissions.ABOUT, why, is_expected=True),)
        )
    more = permissions.further_questions(needed, who, answers[permissions.FIRST])
    return result + permissions.permission_findings([*first, *more], {**answers, **ask(more)})


def _gcp(plan: PlatformPlan, ask: RunProbes, value: str) -> ProbeResult:
    caller = gcp.caller_probe()
    answer = ask([caller])[caller.name]
    project = "" if answer.failure_reason else value or gcp.project_of(answer.value)
    ahead = PlannedAccount(plan, gcp_graph(plan), project or "PROJECT")
    questions = gcp.gcp_probes(ahead)
    if not project:
        none = "gcloud has no project configured: gcloud config set project NAME"
        return _skip_all(
            questions, answer.failure_reason or answer.error or none, gcp.PERMISSIONS.subject
        )
    return gcp.gcp_findings(ahead, questions, ask(questions))


def _skip_all(questions: Sequence[Probe], why: str, also: str) -> ProbeResult:
    """Skip all queries for one reason."""
    return ProbeResult(
        skipped=tuple(SkippedProbe(each, why) for each in (*(q.subject for q in questions), also))
    )
