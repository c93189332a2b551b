"""Admission policy against a job: the platform's own is asked before any queue is."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard.admission.parameters import enforcement, parameters_of
from gpuyard.admission.requirement import Workload
from gpuyard.admission.requirements import QUEUED, denials
from gpuyard.explain.messages import policy
from gpuyard.explain.outcome import JobOutcome, impossible
from gpuyard.manifests.pods import Pod
from gpuyard.manifests.workloads import JobRead
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.spec.sections import Enforce


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What the policy does with a job."""

    outcome: JobOutcome | None = None
    """Never, when it refuses the job."""
    cautions: tuple[str, ...] = ()
    requires_queue: bool = False
    """Whether a queue is all that is missing: one that the job could name."""


def evaluate_policy(plan: PlatformPlan, team: TeamPlan | None, job: JobRead) -> PolicyResult:
    """Nothing is said of jobs outside of teams."""
    results = list(denials(_workload(job), parameters_of(plan, team))) if team else []
    if not results:
        return PolicyResult()
    violations = [str(each) for each in results]
    if (how := enforcement(plan)) is not Enforce.DENY:
        return PolicyResult(cautions=(policy.let_pass(violations, how),))
    wants_queue = {each.id for each in results} == {QUEUED.id}
    return PolicyResult(
        outcome=impossible(policy.not_admitted(violations)), requires_queue=wants_queue
    )


def _workload(job: JobRead) -> Workload:
    labels: Mapping[str, Mapping[str, str]] = {"labels": job.own_labels}
    pods = (
        Pod((), labels if job.kind == "Pod" else {"labels": p.labels}, p.spec) for p in job.pods
    )
    return Workload(job.kind, labels, tuple(pods), jobs_metadata=labels)
