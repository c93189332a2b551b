"""`make shell`: a shell in which `pulumi`, `gpuyard` and the kubeconfig are ready for the local stack."""

import os
import sys

from gpuyard.errors import GpuYardError
from gpuyard.simulate import cluster
from testbed.yard.engine import ROOT, STACK, engine
from testbed.yard.up import say


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
        env = engine(now.kubeconfig).env
    except GpuYardError as e:
        say(f"shell: {e}")
        return e.exit_code
    env["PATH"] = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{env['PATH']}"
    say(
        f"pulumi, gpuyard and KUBECONFIG are set for the stack {STACK}; try: pulumi preview --stack {STACK}"
    )
    shell = env.get("SHELL", "/bin/bash")
    os.chdir(ROOT)
    os.execvpe(shell, [shell], env)  # noqa: S606  the user's own shell


if __name__ == "__main__":
    sys.exit(main())
