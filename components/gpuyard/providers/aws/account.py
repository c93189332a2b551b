"""The queries to an AWS account in order: the identity, then all others, then those that depend on results."""

from dataclasses import replace

from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight import aws, permissions
from gpuyard.preflight.probes import ProbeResult, RunProbes, SkippedProbe, skip_all
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard.render.aws.graph import aws_graph
from gpuyard.spec.region import CloudAccount


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
        return skip_all(questions, answer.failure_reason or answer.error, permissions.ABOUT)
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
