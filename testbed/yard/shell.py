"""`make shell`: a shell in which `pulumi`, `gpuyard` and the kubeconfig are ready for a stack."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from gpuyard_core.errors import GpuYardError
from gpuyard_simulate import cluster
from testbed.yard import cloud
from testbed.yard.engine import NAME, ROOT, STACK, engine, make
from testbed.yard.up import say, simulated

COPY = "copy"
"""What `pulumi` in the shell passes to this program, see `write_pulumi`."""
_PULUMI = """#!/bin/sh
# Commands that read the stack file get its copy for the fake account, refreshed from the file.
case "${{1:-}}" in
preview|pre|up|update|destroy|refresh|watch)
    {script} shell {copy} && exec {pulumi} "$@" --config-file {file} ;;
*)
    exec {pulumi} "$@" ;;
esac
"""


def main() -> int:  # noqa: RET503  it ends by becoming the shell
    """Replace this process by the user's shell."""
    try:
        if sys.argv[1:] == [COPY]:
            state = cloud.Stand(STACK)
            state.plan()
            state.write()
            return 0
        cluster.require_own(NAME or STACK, ROOT)
        now = cluster.status(NAME or STACK)
        if not now.ready:
            say(
                f"shell: the platform is not up; run `{make('up', STACK)}` first. For gpuyard alone:"
                " `source .venv/bin/activate`"
            )
            return 4
        if simulated(STACK):
            env = engine(now.kubeconfig).env
        else:
            state = cloud.Stand(STACK)
            env = state.engine(Path(now.kubeconfig)).env
            env["KUBECONFIG"] = now.kubeconfig
            env["PATH"] = f"{write_pulumi(state, env['PATH'])}{os.pathsep}{env['PATH']}"
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


def write_pulumi(state: cloud.Stand, path: str) -> Path:
    """Write a `pulumi` for the repository's folder that deploys to the fake account; returns its folder."""
    folder = state.home / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    words = {
        "script": ROOT / "scripts" / "yard",
        "copy": COPY,
        "pulumi": shutil.which("pulumi", path=path),
        "file": state.copy,
    }
    text = _PULUMI.format(**{key: shlex.quote(str(each)) for key, each in words.items()})
    (folder / "pulumi").write_text(text, encoding="utf-8")
    (folder / "pulumi").chmod(0o755)
    return folder


if __name__ == "__main__":
    sys.exit(main())
