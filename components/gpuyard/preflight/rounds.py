"""The questions about a plan in their order: who asks, then everything, then what rests on answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight import allowed, aws, gcp
from gpuyard.preflight.asking import AnswersByName, Heard, Question, Unasked
from gpuyard.preflight.wants import Ahead
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.spec.region import ENVIRONMENT, Signed

Ask = Callable[[Sequence[Question]], AnswersByName]
"""Puts questions, all at once, and has an answer for each."""


def hear(plan: PlatformPlan, ask: Ask, signed: Signed = ENVIRONMENT) -> Heard:
    """Ask about a plan on AWS or Google, and say what came of it."""
    if plan.cloud.value == "aws":
        return _aws(plan, ask if not signed.profile else _with(ask, "--profile", signed.profile))
    return _gcp(plan, ask, signed.project)


def _with(ask: Ask, *words: str) -> Ask:
    """Each question with these words more."""
    return lambda asked: ask([replace(each, words=(*each.words, *words)) for each in asked])


def _aws(plan: PlatformPlan, ask: Ask) -> Heard:
    caller, graph = aws.caller_question(plan), aws_graph(plan)
    answer = ask([caller])[caller.name]
    ahead = Ahead(plan, graph, aws.account_of(answer.value))
    questions = aws.aws_questions(ahead)
    if answer.why or answer.error:
        return _nobody(questions, answer.why or answer.error, allowed.ABOUT)
    who = allowed.principal(answer.value)
    needed = allowed.needs(plan, graph, who) if who else []
    first = [allowed.first_question(needed, who)] if who else []
    answers = ask([*questions, *first])
    heard = aws.aws_heard(ahead, questions, answers)
    if not first:
        why = "IAM's simulator knows users and roles only, and who is signed in is neither"
        return heard + Heard(unasked=(Unasked(allowed.ABOUT, why, ours=True),))
    more = allowed.further_questions(needed, who, answers[allowed.FIRST])
    return heard + allowed.allowed_heard([*first, *more], {**answers, **ask(more)})


def _gcp(plan: PlatformPlan, ask: Ask, given: str) -> Heard:
    caller = gcp.caller_question()
    answer = ask([caller])[caller.name]
    project = "" if answer.why else given or gcp.project_of(answer.value)
    ahead = Ahead(plan, gcp_graph(plan), project or "PROJECT")
    questions = gcp.gcp_questions(ahead)
    if not project:
        none = "gcloud is set to no project: gcloud config set project NAME"
        return _nobody(questions, answer.why or answer.error or none, gcp.PERMISSIONS.about)
    return gcp.gcp_heard(ahead, questions, ask(questions))


def _nobody(questions: Sequence[Question], why: str, also: str) -> Heard:
    """Nobody could be asked: then nothing is known of anything."""
    return Heard(
        unasked=tuple(Unasked(each, why) for each in (*(q.about for q in questions), also))
    )
