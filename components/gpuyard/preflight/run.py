"""The questions about a plan in their order: who asks, then everything, then what rests on answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight import aws, gcp, permissions
from gpuyard.preflight.probes import AnswersByName, Probe, ProbeResult, SkippedProbe
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.spec.region import ENVIRONMENT, Credentials

RunProbes = Callable[[Sequence[Probe]], AnswersByName]
"""Puts questions, all at once, and has an answer for each."""


def run_probes(
    plan: PlatformPlan, ask: RunProbes, signed: Credentials = ENVIRONMENT
) -> ProbeResult:
    """Ask about a plan on AWS or Google, and say what came of it."""
    if plan.cloud.value == "aws":
        return _aws(plan, ask if not signed.profile else _with(ask, "--profile", signed.profile))
    return _gcp(plan, ask, signed.project)


def _with(ask: RunProbes, *words: str) -> RunProbes:
    """Each question with these words more."""
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
        why = "IAM's simulator knows users and roles only, and who is signed in is neither"
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
        none = "gcloud is set to no project: gcloud config set project NAME"
        return _skip_all(
            questions, answer.failure_reason or answer.error or none, gcp.PERMISSIONS.subject
        )
    return gcp.gcp_findings(ahead, questions, ask(questions))


def _skip_all(questions: Sequence[Probe], why: str, also: str) -> ProbeResult:
    """Nobody could be asked: then nothing is known of anything."""
    return ProbeResult(
        skipped=tuple(SkippedProbe(each, why) for each in (*(q.subject for q in questions), also))
    )
