"""Cost of the policy pack for each resource, without the engine: its server gets the engine's requests.

    benchmarks/pack.py [RESOURCES]

CPU milliseconds per resource, the minimum of RUNS, for a mixture of resources and for only GPU Deployments;
`server` is the time of that server by itself, with policies that do nothing. pack.md has the values. The exit
code is 1 if the limit is exceeded.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from google.protobuf import json_format, struct_pb2
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi_policy import EnforcementLevel, Policy, ResourceValidationPolicy
from pulumi_policy.policy import _PolicyAnalyzerServicer

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "policies"), str(ROOT / "benchmarks")]

import lint  # noqa: E402  the benchmark beside this one
import pack  # noqa: E402

RUNS = 5
LIMIT_MS = 1.5
OTHERS = (
    (
        "aws:eks/nodeGroup:NodeGroup",
        {"instanceTypes": ["p5.48xlarge"], "scalingConfig": {"maxSize": 4}},
    ),
    ("aws:s3/bucket:Bucket", {"bucket": "checkpoints", "tags": {"a": "b"}}),
    ("kubernetes:core/v1:ResourceQuota", {"spec": {"hard": {"requests.nvidia.com/gpu": 8}}}),
    ("kubernetes:core/v1:ConfigMap", {"data": {"a": "b\nc\n", "d": "version: v1\nflags: {}\n"}}),
    ("kubernetes:core/v1:Namespace", {"metadata": {"name": "vision", "labels": {"a": "b"}}}),
)


def requests(count: int, *, mixed: bool) -> list[Any]:
    """So many resources as the engine sends them."""
    objects = list(yaml.safe_load_all(lint.deployments(count)))
    kinds = [("kubernetes:apps/v1:Deployment", each) for each in objects]
    if mixed:
        kinds = [kind if n % 2 else OTHERS[n // 2 % len(OTHERS)] for n, kind in enumerate(kinds)]
    return [
        proto.AnalyzeRequest(
            type=token,
            name=f"r{n}",
            urn=f"urn:pulumi:dev::x::{token}::r{n}",
            properties=json_format.ParseDict(properties, struct_pb2.Struct()),
        )
        for n, (token, properties) in enumerate(kinds)
    ]


def nothing() -> list[Policy]:
    """As many resource policies as the pack enables, all empty."""
    return [
        ResourceValidationPolicy(name=name, description=name, validate=lambda _args, _report: None)
        for name in ("a", "b")
    ]


def milliseconds(asked: Sequence[Any]) -> tuple[float, float]:
    """CPU milliseconds for each request: with the pack, and of the server alone.

    They are measured in turn, so that a slower machine affects both.
    """
    servers = [
        _PolicyAnalyzerServicer("bench", "1", policies, EnforcementLevel.ADVISORY)
        for policies in (pack.policies(), nothing())
    ]
    rounds = [[_seconds(server, asked) for server in servers] for _ in range(RUNS)]
    whole, alone = (min(taken) / len(asked) * 1000 for taken in zip(*rounds, strict=True))
    return whole, alone


def _seconds(server: _PolicyAnalyzerServicer, asked: Sequence[Any]) -> float:
    started = time.process_time()
    for request in asked:
        server.Analyze(request, None)
    return time.process_time() - started


def main() -> int:
    """Print a line for each mixture."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    worst = 0.0
    for name, mixed in (("mixed", True), ("Deployments", False)):
        whole, server = milliseconds(requests(count, mixed=mixed))
        worst = max(worst, whole)
        print(f"{name:12} {whole:.2f} ms per resource, {server:.2f} of it the server alone")
    return int(worst > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
