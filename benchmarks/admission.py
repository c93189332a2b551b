"""Milliseconds that the policies of a platform add to a request, as the API server measures them.

    python benchmarks/admission.py

It starts a simulated cluster with three teams under their policies. A member of a team creates each kind ROUND
times as a dry run, in RUNS runs; a policy that is only `true`, for the same requests, is the cost of any policy.
It prints the minimum of the runs and their median. The exit code is 1 if an ordinary request costs more than
LIMIT.
"""

import os
import re
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("tests", "scripts", ".")]

from gpuyard.render.admission.objects import admission_objects  # noqa: E402
from gpuyard_simulate import cluster, tools  # noqa: E402
from gpuyard_simulate.api import Api  # noqa: E402
from kit.cluster import lab as reality  # noqa: E402
from kit.cluster.attacks import three_teams  # noqa: E402
from kit.cluster.tenants import acting, tenants  # noqa: E402

NAME = f"benchmark-{os.getpid()}"
NAMESPACE = "atk-a"
RUNS, ROUND = 7, 60
LIMIT = 5.0
"""Milliseconds for a pod, a Job or a Deployment of up to three containers."""
MEASURE = re.compile(
    r"apiserver_admission_controller_admission_duration_seconds_(sum|count)"
    r'\{name="ValidatingAdmissionPolicy",operation="CREATE",rejected="false",type="validate"\} (\S+)'
)
Value = dict[str, Any]


def workload(kind: str, containers: int) -> Value:
    """An ordinary workload, with GPUs in its first container."""
    small = {"cpu": "100m", "memory": "64Mi"}
    spec: Value = {
        "restartPolicy": "Always" if kind == "Deployment" else "Never",
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": f"c{i}",
                "image": "example.invalid/a:1",
                "resources": {"requests": small, "limits": small},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
            for i in range(containers)
        ],
    }
    labels = {"kueue.x-k8s.io/queue-name": "default"}
    metadata: Value = {"generateName": "bench-", "namespace": NAMESPACE, "labels": labels}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}
    template = {"metadata": {"labels": {"app": "bench"}}, "spec": spec}
    if kind == "Job":
        body: Value = {"suspend": True, "template": template}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": body}
    body = {"selector": {"matchLabels": {"app": "bench"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": body}


CASES = [(k, n) for k in ("Pod", "Job", "Deployment") for n in (1, 3)] + [("Pod", 40)]


def counted(api: Api) -> tuple[float, float]:
    """Seconds of policies so far, and the number of requests."""
    found = {
        which: float(value) for which, value in MEASURE.findall(api.call("GET", "/metrics")["text"])
    }
    return found.get("sum", 0.0), found.get("count", 0.0)


def taken(api: Api, kind: str, containers: int) -> list[float]:
    """Milliseconds per request, for each run."""
    value, member = workload(kind, containers), acting(api, "makers")
    path = f"{reality.path_of(value, 'any').rpartition('/')[0]}?dryRun=All"
    found: list[float] = []
    for _ in range(RUNS + 1):
        seconds, requests = counted(api)
        for _ in range(ROUND):
            member.call("POST", path, value)
        later, more = counted(api)
        found.append(1000 * (later - seconds) / (more - requests))
    return found[1:]  # the first compiles expressions


def plain() -> list[Value]:
    """A policy that is `true` for every object of a team."""
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    api = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": NAME}}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
    }
    bound = {"policyName": NAME, "validationActions": ["Deny"]}
    return [
        {**api, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {**api, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound},
    ]


def all_taken(lab: reality.Lab) -> dict[str, dict[tuple[str, int], list[float]]]:
    """Results by policies, then by kind and containers."""
    ours = {case: taken(lab.api, *case) for case in CASES}
    for value in reversed(admission_objects(lab.plan)):
        reality.delete(lab.api, reality.path_of(value))
    for value in plain():
        reality.apply(lab.api, value)
    return {"ours": ours, "true": {case: taken(lab.api, *case) for case in CASES}}


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["GPUYARD_SIM_HOME"] = home
        os.environ["GPUYARD_TOOLS"] = str(tools.find_tools(ROOT / "testbed").bin)
        cluster.up(NAME)
        try:
            with tenants(NAME, three_teams()) as lab:
                found = all_taken(lab)
        finally:
            cluster.down(NAME)
    print(
        f"{RUNS} runs of {ROUND}; load {os.getloadavg()[0]:.1f}; milliseconds per request: minimum (median)\n"
    )
    for case in CASES:
        kind, containers = case
        ours, any_policy = found["ours"][case], found["true"][case]
        print(
            f"{kind:<10} of {containers:>2}: {min(ours):6.2f} ({statistics.median(ours):6.2f})"
            f"   a policy of `true`: {min(any_policy):6.2f} ({statistics.median(any_policy):6.2f})"
        )
    slow = [c for c in CASES if c[1] <= 3 and min(found["ours"][c]) > LIMIT]  # noqa: PLR2004
    print(f"\nover {LIMIT} ms: {slow}" if slow else f"\nnone of the ordinary ones over {LIMIT} ms")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
