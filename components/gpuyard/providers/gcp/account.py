"""The queries to a Google Cloud project in order: the identity, then all others; its permissions."""

from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight import gcp
from gpuyard.preflight.probes import ProbeResult, RunProbes, skip_all
from gpuyard.preflight.quota_requirements import PlannedAccount
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.permissions.roles import GcpPermissions, permissions_of
from gpuyard.spec.region import CloudAccount


def probe_account(plan: PlatformPlan, ask: RunProbes, signed: CloudAccount) -> ProbeResult:
    """Query the project of a plan: that of the stack, or that of gcloud."""
    caller = gcp.caller_probe()
    answer = ask([caller])[caller.name]
    project = "" if answer.failure_reason else signed.project or gcp.project_of(answer.value)
    ahead = PlannedAccount(plan, gcp_graph(plan), project or "PROJECT")
    questions = gcp.gcp_probes(ahead)
    if not project:
        none = "gcloud has no project configured: gcloud config set project NAME"
        return skip_all(
            questions, answer.failure_reason or answer.error or none, gcp.PERMISSIONS.subject
        )
    return gcp.gcp_findings(ahead, questions, ask(questions))


def caller_project(ask: RunProbes) -> str:
    """The project of gcloud."""
    caller = gcp.caller_probe()
    return gcp.project_of(ask([caller])[caller.name].value)


def gcp_permissions(plan: PlatformPlan, _account: str) -> GcpPermissions:
    """The custom roles of the deployer, and their bindings."""
    return permissions_of(gcp_graph(plan), plan.name)
