"""The environment in which the Pulumi engine runs: for tests, and for `make up`.

An official CLI that is new enough is used with its own plugins, and without anything of this folder. Only
where there is none, the CLI built here runs with the stand-in plugins of this folder:


- the language hosts are next to the CLI, where the engine looks without a warning (getPluginInfoAndPath in
  pulumi/pulumi, sdk/go/common/workspace/plugins.go);
- the kubernetes provider is in the plugin folder of a separate `PULUMI_HOME`, under the version
  of the installed SDK.

So these plugins are never on the PATH of an official CLI, nor in a user's own `~/.pulumi`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from testbed.official import Engine, choose_engine

PLUGINS = Path(__file__).resolve().parent
BUILT = PLUGINS.parents[1] / ".testbed" / "bin"
LANGUAGE_HOST = "pulumi-language-python"
HOSTS = (LANGUAGE_HOST, "pulumi-language-nodejs", "pulumi-language-go")
PROVIDER = "pulumi-resource-kubernetes"


def find(built: Path = BUILT) -> Engine | None:
    """The engine of this machine, or None when there is none to run."""
    engine = choose_engine(built)
    return engine if os.access(engine.path, os.X_OK) else None


def variables(
    engine: Engine,
    *,
    state: Path,
    passphrase: str,
    base: Mapping[str, str] | None = None,
    logs: bool = True,
) -> dict[str, str]:
    """The environment for this engine with its stacks' state in the folder `state`, created if missing.

    The whole environment is returned, from `base` (default: this process's). Without `logs` the engine in
    `.testbed` does not log all its operations, a quarter of its work: the log folder is blocked by a file.
    """
    stacks = state / "stacks"
    stacks.mkdir(parents=True, exist_ok=True)
    env = dict(os.environ if base is None else base)
    env.update(
        # Else the engine writes attributes next to each file, in place: after a kill at that moment every
        # command ends with "failed to load checkpoint: EOF". The files themselves are replaced as a whole.
        PULUMI_BACKEND_URL=f"{stacks.resolve().as_uri()}?metadata=skip",
        PULUMI_CONFIG_PASSPHRASE=passphrase,
        PULUMI_SKIP_UPDATE_CHECK="true",
    )
    env.pop("PULUMI_CONFIG_PASSPHRASE_FILE", None)
    # Resolved, because the engine compares its own folder with that of its language host.
    folders = [str(engine.path.resolve().parent), env.get("PATH", "")]
    if engine.needs_our_plugins:
        home = state / "home"
        _install(engine, home)
        if not logs:
            (home / "logs").touch()
        env.update(
            PULUMI_HOME=str(home.resolve()), PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION="true"
        )
        # A program or pack that names no environment runs with `python3` from PATH, which must have
        # the SDK.
        folders.insert(0, str(Path(sys.executable).parent))
    env["PATH"] = os.pathsep.join(folder for folder in folders if folder)
    return env


def _install(engine: Engine, home: Path) -> None:
    """Install the stand-ins where this engine finds them."""
    cache = home / "plugins" / f"resource-kubernetes-v{provider_version()}"
    cache.mkdir(parents=True, exist_ok=True)
    for name in HOSTS:
        link(engine.path.parent / name, PLUGINS / "bin" / LANGUAGE_HOST)
    link(cache / PROVIDER, PLUGINS / "bin" / PROVIDER)


def provider_version() -> str:
    """The version of the installed kubernetes SDK: the engine requests its plugin by this version."""
    return metadata.version("pulumi-kubernetes")


def link(place: Path, target: Path) -> None:
    """Make `place` a link to `target`, also when another process does so at the same time."""
    if place.is_symlink() and place.resolve() == target.resolve():
        return
    # Another process may do the same at the same time, hence the rename.
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target.resolve())
    fresh.replace(place)
