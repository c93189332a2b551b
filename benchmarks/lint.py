"""Time of `gpuyard lint` over many rendered GPU Deployments, and of checkov if it is given.

    benchmarks/lint.py [DEPLOYMENTS] [PATH OF CHECKOV]

CPU seconds of a separate process, start included, the minimum of three; lint.md has the values.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 3
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: serve-{n}
  namespace: team-{team}
  labels:
    app.kubernetes.io/name: serve
    app.kubernetes.io/instance: serve-{n}
    kueue.x-k8s.io/queue-name: default
spec:
  replicas: 2
  selector:
    matchLabels:
      app.kubernetes.io/instance: serve-{n}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: serve
        app.kubernetes.io/instance: serve-{n}
    spec:
      securityContext:
        runAsNonRoot: true
        seccompProfile:
          type: RuntimeDefault
      tolerations:
        - key: nvidia.com/gpu
          operator: Exists
          effect: NoSchedule
      containers:
        - name: server
          image: example/serve@sha256:{digest}
          args: ["--port", "8000", "--model", "/models/{n}"]
          ports:
            - name: http
              containerPort: 8000
          env:
            - name: LOG_LEVEL
              value: info
            - name: CACHE
              value: /cache
          readinessProbe:
            httpGet:
              path: /healthz
              port: http
          resources:
            requests:
              cpu: "8"
              memory: 64Gi
            limits:
              memory: 64Gi
              nvidia.com/gpu: {gpus}
          volumeMounts:
            - name: cache
              mountPath: /cache
      volumes:
        - name: cache
          emptyDir: {{}}
"""


def deployments(count: int) -> str:
    """So many Deployments as documents of one file, like `helm template`."""
    texts = (
        DEPLOYMENT.format(n=n, team=n % 20, digest=f"{n:064x}", gpus=1 + n % 8)
        for n in range(count)
    )
    return "---\n".join(texts)


def cpu_seconds(command: list[str], codes: tuple[int, ...] = (0,)) -> float:
    """CPU seconds of one process and what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, capture_output=True, check=False, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode not in codes:
        raise SystemExit(f"{command[0]} ends with {ended.returncode}: {ended.stderr.decode()}")
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def linter(path: Path) -> list[str]:
    """The gpuyard command, with the interpreter that runs this."""
    program = "import sys; from gpuyard.cli import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", program, "lint", str(path)]


def main() -> None:
    """Print a line for each tool."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    checkov = sys.argv[2] if len(sys.argv) > 2 else None  # noqa: PLR2004
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rendered.yaml"
        path.write_text(deployments(count), encoding="utf-8")
        ours = min(cpu_seconds(linter(path)) for _ in range(RUNS))
        print(f"gpuyard lint  {count} Deployments  {ours:.2f} s CPU")
        if checkov:
            command = [
                checkov,
                "-f",
                str(path),
                "--framework",
                "kubernetes",
                "--compact",
                "--quiet",
            ]
            theirs = cpu_seconds(command, (0, 1))
            print(f"checkov       {count} Deployments  {theirs:.2f} s CPU")


if __name__ == "__main__":
    main()
