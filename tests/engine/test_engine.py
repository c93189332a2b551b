"""The engine around the program: errors, packs, components, locks, interruption."""

import json
import os
import random
import signal
import textwrap
from pathlib import Path

import pytest

from stacks import ROOT, SECONDS, read_until

PACK = """
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

def check(args, report):
    config_map = args.resource_type == "kubernetes:core/v1:ConfigMap"
    if config_map and args.props.get("data", {}).get("team") is None:
        report("every ConfigMap names its team")

PolicyPack("trial", enforcement_level=EnforcementLevel.MANDATORY, policies=[
    ResourceValidationPolicy(name="team", description="team", validate=check)])
"""
COMPONENT = """
from typing import Optional, TypedDict
import pulumi
import pulumi_kubernetes as k8s
from pulumi.provider.experimental import component_provider_host

class NotesArgs(TypedDict):
    namespace: pulumi.Input[str]
    texts: dict[str, str]

class Notes(pulumi.ComponentResource):
    count: pulumi.Output[int]

    def __init__(self, name: str, args: NotesArgs, opts: Optional[pulumi.ResourceOptions] = None) -> None:
        super().__init__("trial-notes:index:Notes", name, {}, opts)
        for key, text in args["texts"].items():
            metadata = {"name": f"{name}-{key}", "namespace": args["namespace"]}
            k8s.core.v1.ConfigMap(f"{name}-{key}", metadata=metadata,
                                  data={"text": text}, opts=pulumi.ResourceOptions(parent=self))
        self.count = pulumi.Output.from_input(len(args["texts"]))
        self.register_outputs({"count": self.count})

component_provider_host(name="trial-notes", components=[Notes])
"""
SEEDS = range(int(os.environ.get("GPUYARD_SEEDS", "3")))


def _write(folder, **files):
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text))


@pytest.mark.always
@pytest.mark.usefixtures("cold")
def test_an_error_of_the_program_is_shown_once(stack):
    stack.program('raise pulumi.RunError("pools[2].nodes: 40 of 16")')
    failed = stack.up(fails=True).output
    assert failed.partition("Diagnostics:")[2].count("pools[2].nodes: 40 of 16") == 1


@pytest.mark.usefixtures("cold", "passphrase")
def test_configuration_reaches_the_program(stack):
    """Plain and secret values, from the folder that `stackConfigDir` names; also whether it is a preview."""
    stack.project(stackConfigDir="stacks")
    (stack.folder / "stacks").mkdir()
    stack.run("config", "set", "size", "3")
    stack.run("config", "set", "--path", "platform.pools[0]", "train")
    stack.run("config", "set", "--secret", "token", "hush")
    assert (stack.folder / "stacks" / "Pulumi.dev.yaml").exists()
    stack.program("""
        config = pulumi.Config()
        assert config.require_int("size") == 3
        assert config.require_object("platform") == {"pools": ["train"]}
        pulumi.export("token", config.require_secret("token"))
        pulumi.export("told", [pulumi.get_stack(), pulumi.get_project(), pulumi.get_organization(),
                               pulumi.runtime.is_dry_run(), Path.cwd() == Path(__file__).resolve().parent])
    """)
    stack.up()
    told = stack.run("stack", "output", "told", "--json").output
    assert json.loads(told) == ["dev", "trial", "organization", False, True]
    assert "[secret]" in stack.run("stack", "output", "token").output


@pytest.mark.always
def test_a_policy_pack_stops_a_preview(stack, tmp_path):
    _write(
        tmp_path / "pack",
        **{"PulumiPolicy.yaml": "runtime: python\nversion: 0.0.1\n", "__main__.py": PACK},
    )
    pack = ("--policy-pack", str(tmp_path / "pack"))
    stack.program('config_map("one")')
    failed = stack.preview(*pack, fails=True).output
    assert "every ConfigMap names its team" in failed
    assert "KeyboardInterrupt" not in failed
    stack.program('config_map("one", {"team": "vision"})')
    assert (
        "1 to create" in stack.preview(*pack).output or "to create" in stack.preview(*pack).output
    )


@pytest.mark.usefixtures("cold")
def test_a_component_of_a_plugin(stack, api):
    """`RunPlugin` starts the component's provider, and the engine constructs in it."""
    plugin = "runtime:\n  name: python\n  options:\n    virtualenv: venv\n"
    _write(stack.folder / "notes", **{"PulumiPlugin.yaml": plugin, "__main__.py": COMPONENT})
    (stack.folder / "notes" / "venv").symlink_to(ROOT / ".venv")
    stack.project(plugins={"providers": [{"name": "trial-notes", "path": "./notes"}]})
    stack.program("""
        class Notes(pulumi.ComponentResource):
            count: pulumi.Output[int]
            def __init__(self, name, props, opts):
                super().__init__("trial-notes:index:Notes", name, {**props, "count": None}, opts, remote=True)

        notes = Notes("n", {"namespace": NAMESPACE, "texts": {"a": "1", "b": "2"}},
                      pulumi.ResourceOptions(providers={"kubernetes": provider}))
        pulumi.export("count", notes.count)
    """)
    stack.up()
    assert api.names("ConfigMap") == {"n-a", "n-b"}
    assert stack.run("stack", "output", "count").output.strip() == "2"
    stack.unchanged()
    stack.destroy()
    assert api.names("ConfigMap") == set()


SLOW = """
for index in range(6):
    config_map(f"part-{index}", metadata={"annotations": WAIT if index == 5 else {}})
"""
PARTS = {f"part-{index}" for index in range(6)}
WAIT = {"pulumi.com/waitFor": "jsonpath={.metadata.labels.go}=yes"}


def _slow(stack):
    """A program whose last object becomes ready only when the test says so."""
    stack.program(f"WAIT = {WAIT!r}\n" + SLOW)


def _release(api):
    """Let the last object become ready. Not as kubectl: the next update would undo that."""
    api.merge("ConfigMap", "part-5", {"metadata": {"labels": {"go": "yes"}}}, manager="trial")


@pytest.mark.always
def test_a_second_writer_is_told_who_holds_the_lock(stack, api, until):
    _slow(stack)
    first = stack.start("up", "--yes", "--skip-preview", "--color", "never")
    until(lambda: api.get("ConfigMap", "part-5"))
    failed = stack.up(fails=True).output
    assert "the stack is currently locked by 1 lock(s)" in failed
    assert "pulumi cancel" in failed
    _release(api)
    output, _ = first.communicate(timeout=SECONDS)
    assert first.returncode == 0, output


@pytest.mark.always
def test_interrupted_then_up_converges(stack, api, until):
    _slow(stack)
    first = stack.start("up", "--yes", "--skip-preview", "--color", "never")
    until(lambda: api.get("ConfigMap", "part-5"))
    first.send_signal(signal.SIGINT)
    output, _ = first.communicate(timeout=SECONDS)
    assert first.returncode != 0
    assert "Traceback" not in output
    assert "was cancelled" in output
    _release(api)
    stack.up()
    stack.unchanged()
    assert api.names("ConfigMap") == PARTS


def test_killed_then_up_names_the_way_out(stack, api, until):
    """A kill leaves the lock, and an object that was being made: created, but not in the state."""
    _slow(stack)
    first = stack.start("up", "--yes", "--skip-preview", "--color", "never")
    until(lambda: api.names("ConfigMap") == PARTS)  # they come side by side, the last one not last
    _kill(first)
    assert "pulumi cancel" in stack.up(fails=True).output
    stack.run("cancel", "--yes")
    _release(api)
    failed = stack.up(fails=True).output
    assert "pending operations" in failed
    assert 'configmaps "part-5" already exists' in failed
    pending = {item["resource"]["urn"] for item in stack.state()["pending_operations"]}
    assert "part-5" in {urn.rpartition("::")[2] for urn in pending}
    # `refresh --import-pending-creates` only forgets the operation (seen with 3.259); `import` adopts.
    stack.refresh("--clear-pending-creates")
    _adopt(stack, sorted(pending))
    stack.up()
    stack.unchanged()
    assert api.names("ConfigMap") == PARTS


def _adopt(stack, urns):
    """Take objects that exist into the state."""
    resources = []
    for urn in urns:
        name = urn.rpartition("::")[2]
        identity = f"{stack.namespace}/{name}"
        token = urn.split("::")[2]
        resources.append({"type": token, "name": name, "id": identity, "provider": "cluster"})
    table = {"cluster": stack.resource("cluster")["urn"]}
    file = stack.folder / "adopt.json"
    file.write_text(json.dumps({"nameTable": table, "resources": resources}))
    flags = ("--generate-code=false", "--protect=false", "--yes", "--skip-preview")
    stack.run("import", "--file", str(file), *flags)


def _kill(process):
    """Kill the engine and nothing else; its plugins must notice."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_random_then_converges_without_a_duplicate(stack, api, seed):
    """Whatever step the kill hits: cancel, then up with adoption, and nothing is there twice."""
    count = 12
    rng = random.Random(seed)  # noqa: S311  to repeat a failure, not to hide anything
    stack.program(
        f"for index in range({count}):\n    config_map(f'part-{{index}}', {{'i': str(index)}})\n"
    )
    first = stack.start("up", "--yes", "--skip-preview", "--color", "never", "--parallel", "2")
    for _ in range(rng.randint(1, count)):
        read_until(first, " created ")
    _kill(first)
    assert list(stack.backend.rglob("*.attrs")) == [], "what a kill may leave half written"
    stack.run("cancel", "--yes")
    # Without this the pending operations stay in the state for good.
    stack.refresh("--clear-pending-creates")
    adopt = {"PULUMI_K8S_UPSERT_EXISTING_OBJECTS": "true", "PULUMI_K8S_ENABLE_PATCH_FORCE": "true"}
    stack.up(**adopt)
    assert api.names("ConfigMap") == {f"part-{index}" for index in range(count)}
    assert "pending_operations" not in stack.state()
    stack.unchanged(**adopt)
    stack.destroy()
    assert api.names("ConfigMap") == set()


@pytest.mark.always
@pytest.mark.usefixtures("cold")
def test_plugins_end_with_a_killed_engine(stack, api, until):
    _slow(stack)
    first = stack.start("up", "--yes", "--skip-preview", "--color", "never")
    until(lambda: api.get("ConfigMap", "part-5"))
    children = _descendants(first.pid)
    assert children
    _kill(first)
    until(lambda: not [pid for pid in children if Path(f"/proc/{pid}").exists()])


def _descendants(parent):
    """Every process below this one."""
    below, found = {}, []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue
            parent_of = int(stat.rpartition(")")[2].split()[1])
            below.setdefault(parent_of, []).append(int(folder.name))
    queue = [parent]
    while queue:
        children = below.get(queue.pop(), [])
        found += children
        queue += children
    return found
