"""One table of what Kueue queues: configuration, rules, `classify` and `explain` all read it."""

from gpuyard.plan.queueing.kueue import frameworks, queued_kinds
from gpuyard.spec.queueing import Integration
from gpuyard_core.manifests.queued import BY_OWNER, GANGS, JOBS, QUEUED_KINDS, UNQUEUED
from gpuyard_core.manifests.templates import KINDS
from gpuyard_lint.rules import RULES
from kit.stacks import platform, spec_of


def test_what_is_configured_is_what_is_judged():
    spec = spec_of(platform())
    assert set(queued_kinds(spec)) < set(QUEUED_KINDS)
    assert "ray.io/rayservice" in frameworks(spec)
    assert "sparkoperator.k8s.io/sparkapplication" not in frameworks(spec)
    assert "kubeflow.org/pytorchjob" not in frameworks(spec)
    assert set(next(rule.kinds for rule in RULES if rule.id == "GPU-QUE-01")) == set(JOBS)


def test_every_kind_that_is_configured_can_be_read():
    spec = spec_of(platform(queueing={"integrations": list(Integration)}))
    assert [kind for kind in queued_kinds(spec) if kind not in KINDS] == []
    assert {f"kubeflow.org/{each.value}" for each in Integration} < set(frameworks(spec))


def test_gangs_start_whole_and_others_pod_by_pod():
    assert {"AppWrapper", "RayService", "CronJob", "StatefulSet", "Pod"} < GANGS
    assert {"Deployment", "LeaderWorkerSet"} == BY_OWNER - GANGS
    assert {"PyTorchJob", "TFJob"}.isdisjoint(GANGS | UNQUEUED), "Kueue knows them when told to"
    assert {"Notebook", "DaemonSet", "Job.batch.volcano.sh"} < UNQUEUED
    assert {"apps/StatefulSet", "Pod", "apps/Deployment"}.isdisjoint(JOBS)
