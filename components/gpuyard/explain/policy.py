"""Admission policy against a job: the platform's own is asked before any queue is."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard.admission.parameters import enforcement, parameters_of
from gpuyard.admission.requirement import Workload
from gpuyard.admission.requirements import QUEUED, refusals
from gpuyard.explain.outcome import JobOutcome, never
from gpuyard.explain.sentences import policy
from gpuyard.manifests.pods import Pod
from gpuyard.manifests.workloads import JobRead
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.spec.sections import Enforce


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """What the policy does with a job."""

    outcome: JobOutcome | None = None
    """Never, when it refuses the job."""
    cautions: tuple[str, ...] = ()
    wants_queue: bool = False
    """Whether a queue is all that is missing: one that the job could name."""


def ask_policy(plan: PlatformPlan, team: TeamPlan | None, job: JobRead) -> PolicyAnswer:
    """Nothing is said of jobs outside of teams."""
    found = list(refusals(_workload(job), parameters_of(plan, team))) if team else []
    if not found:
        return PolicyAnswer()
    said = [str(each) for each in found]
    if (how := enforcement(plan)) is not Enforce.DENY:
        return PolicyAnswer(cautions=(policy.let_pass(said, how),))
    wants_queue = {each.id for each in found} == {QUEUED.id}
    return PolicyAnswer(outcome=never(policy.not_admitted(said)), wants_queue=wants_queue)


def _workload(job: JobRead) -> Workload:
    labels: Mapping[str, Mapping[str, str]] = {"labels": job.own_labels}
    pods = (
        Pod((), labels if job.kind == "Pod" else {"labels": p.labels}, p.spec) for p in job.pods
    )
    return Workload(job.kind, labels, tuple(pods), jobs_metadata=labels)
