"""The platform's admission policy, which is evaluated before any queue."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard.explain.messages import policy
from gpuyard.explain.outcome import JobOutcome, impossible
from gpuyard.plan.records import PlatformPlan, TeamPlan
from gpuyard.render.admission.team_parameters import enforcement, parameters_of
from gpuyard.spec.sections import Enforce
from gpuyard_core.admission.requirement import Workload
from gpuyard_core.admission.requirements import QUEUED, denials
from gpuyard_core.manifests.pods import Pod
from gpuyard_core.manifests.workloads import ParsedWorkload


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """The result of the policy for a job."""

    outcome: JobOutcome | None = None
    """NEVER when the policy rejects the job."""
    cautions: tuple[str, ...] = ()
    requires_queue: bool = False
    """Whether only a queue label is missing."""


def evaluate_policy(plan: PlatformPlan, team: TeamPlan | None, job: ParsedWorkload) -> PolicyResult:
    """Evaluate the policy; it does not apply to jobs outside of teams."""
    results = list(denials(_workload(job), parameters_of(plan, team))) if team else []
    if not results:
        return PolicyResult()
    violations = [each.summary for each in results]
    if (how := enforcement(plan)) is not Enforce.DENY:
        return PolicyResult(cautions=(policy.allowed_with_violations(violations, how),))
    wants_queue = {each.id for each in results} == {QUEUED.id}
    return PolicyResult(
        outcome=impossible(policy.rejected_by_policy(violations)), requires_queue=wants_queue
    )


def _workload(job: ParsedWorkload) -> Workload:
    labels: Mapping[str, Mapping[str, str]] = {"labels": job.own_labels}
    pods = (
        Pod((), labels if job.kind == "Pod" else {"labels": p.labels}, p.spec) for p in job.pods
    )
    return Workload(job.kind, labels, tuple(pods), jobs_metadata=labels, body=job.body)
