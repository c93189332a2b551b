"""`make shell`: a shell in which `pulumi`, `gpuyard` and the kubeconfig are ready for the local stack."""

import os
import sys
from pathlib import Path

from gpuyard.errors import GpuYardError
from gpuyard.simulate import cluster
from testbed.yard import cloud
from testbed.yard.engine import ROOT, STACK, engine
from testbed.yard.up import LOCAL, say


def main() -> int:  # noqa: RET503  it ends by becoming the shell
    """Replace this process by the user's shell."""
    try:
        now = cluster.status(STACK)
        if not now.ready:
            say(
                "shell: the platform is not up; run `make up` first. For gpuyard alone:"
                " `source .venv/bin/activate`"
            )
            return 4
        folder = ROOT
        if STACK == LOCAL:
            env = engine(now.kubeconfig).env
        else:
            stand = cloud.Stand(STACK)
            folder, env = stand.project, stand.engine(Path(now.kubeconfig)).env
            env["KUBECONFIG"] = now.kubeconfig
    except GpuYardError as e:
        say(f"shell: {e}")
        return e.exit_code
    env["PATH"] = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{env['PATH']}"
    say(
        f"pulumi, gpuyard and KUBECONFIG are set for the stack {STACK}; try: pulumi preview --stack {STACK}"
    )
    shell = env.get("SHELL", "/bin/bash")
    os.chdir(folder)
    os.execvpe(shell, [shell], env)  # noqa: S606  the user's own shell


if __name__ == "__main__":
    sys.exit(main())
