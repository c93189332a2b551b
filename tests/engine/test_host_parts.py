"""The language host's and the environment's own decisions, without an engine."""

import subprocess
import sys
from pathlib import Path

import pytest
from pulumi.runtime.proto import language_pb2 as wire
from testbed.plugins import environment
from testbed.plugins.language import interpreter, others

from kit.waiting import SHORTER
from stacks import PASSPHRASE

pytestmark = [pytest.mark.unit, pytest.mark.always]

ROOT = Path(__file__).resolve().parents[2]


# programs in other languages


def test_a_typescript_program_runs_in_its_own_sdk(tmp_path):
    request = wire.RunRequest(args=["more"])
    request.info.program_directory = str(tmp_path)
    with pytest.raises(others.Failed) as failed:
        others.node_command(request, {})
    assert str(failed.value) == (
        "It looks like the Pulumi SDK has not been installed. Have you run pulumi install?"
    )
    runner = tmp_path / "node_modules/@pulumi/pulumi/cmd/run"
    runner.mkdir(parents=True)
    inputs = {"monitor": "127.0.0.1:1", "dry_run": "true"}
    assert others.node_command(request, inputs) == [
        "node",
        str(runner),
        "--monitor=127.0.0.1:1",
        "--dry-run=true",
        ".",
        "more",
    ]


def test_a_go_program_that_does_not_compile_is_reported_with_the_reason(tmp_path, monkeypatch):
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho undefined: x\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    request = wire.RunRequest()
    request.info.program_directory = str(tmp_path)
    with pytest.raises(others.Failed) as failed:
        others.go_command(request, "/build")
    assert str(failed.value) == "`go build -o /build/program .` failed: undefined: x"


def test_a_lock_file_decides_how_npm_installs(tmp_path, monkeypatch):
    npm = tmp_path / "npm"
    npm.write_text('#!/bin/sh\necho "$@" >> calls\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    others.install("nodejs", tmp_path)
    (tmp_path / "package-lock.json").touch()
    others.install("nodejs", tmp_path)
    assert (tmp_path / "calls").read_text() == "install\nci\n"


def test_a_local_sdk_becomes_a_dependency(tmp_path, monkeypatch):
    npm = tmp_path / "npm"
    npm.write_text('#!/bin/sh\necho "$@" >> calls\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (tmp_path / "sdks" / "lab").mkdir(parents=True)
    (tmp_path / "sdks" / "lab" / "package.json").write_text('{"name": "@pulumi/lab"}')
    request = wire.LinkRequest()
    request.info.root_directory = request.info.program_directory = str(tmp_path)
    linked = request.packages.add(path="sdks/lab")
    linked.package.name = "lab"
    assert others.link("nodejs", request) == 'import * as lab from "@pulumi/lab";'
    assert (tmp_path / "calls").read_text() == "pkg set dependencies.@pulumi/lab=file:sdks/lab\n"


# the language host


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("UV_PROJECT_ENVIRONMENT", raising=False)
    for name in (".venv", "venv", "other"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("options", "plugin", "chosen"),
    [
        ({"virtualenv": "other"}, False, "other"),
        ({"toolchain": "uv"}, False, ".venv"),
        ({}, True, "venv"),
        ({"virtualenv": "../{name}/other"}, False, "other"),
    ],
)
def test_which_interpreter_runs_a_program(project, options, plugin, chosen):
    options = {key: value.format(name=project.name) for key, value in options.items()}
    found = interpreter.resolve(project, options, plugin=plugin)
    assert found.resolve() == (project / chosen / "bin" / "python").resolve()


def test_a_missing_environment_is_named(project):
    with pytest.raises(interpreter.BadOptions, match=r"'virtualenv' option .* \"nowhere\""):
        interpreter.resolve(project, {"virtualenv": "nowhere"})
    with pytest.raises(interpreter.BadOptions, match="toolchain poetry is not supported"):
        interpreter.resolve(project, {"toolchain": "poetry"})


# the environment


def _program(folder, name, version):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho v{version}\n")
    (folder / name).chmod(0o755)


def test_stand_ins_are_never_in_the_way_of_an_official_engine(tmp_path, monkeypatch):
    _program(tmp_path / "official", "pulumi", "3.300.0")
    _program(tmp_path / "built", "pulumi", "3.259.0")
    monkeypatch.setenv("PATH", f"{tmp_path / 'official'}:/usr/bin:/bin")
    monkeypatch.delenv("PULUMI_HOME", raising=False)
    found = environment.find(tmp_path / "built")
    assert found.path == tmp_path / "official" / "pulumi"
    variables = environment.variables(found, state=tmp_path / "state", passphrase=PASSPHRASE)
    assert "PULUMI_HOME" not in variables
    assert "testbed" not in variables["PATH"]
    assert not (tmp_path / "state" / "home").exists()


def test_a_built_engine_finds_the_stand_ins_without_path(tmp_path, monkeypatch):
    _program(tmp_path / "built", "pulumi", "3.259.0")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    found = environment.find(tmp_path / "built")
    variables = environment.variables(found, state=tmp_path / "state", passphrase=PASSPHRASE)
    assert (tmp_path / "built" / environment.LANGUAGE_HOST).resolve().is_file()
    cache = (
        tmp_path
        / "state"
        / "home"
        / "plugins"
        / f"resource-kubernetes-v{environment.provider_version()}"
    )
    assert (cache / environment.PROVIDER).resolve().parent.name == "bin"
    where = (tmp_path / "state" / "stacks").as_uri()
    assert variables["PULUMI_BACKEND_URL"] == f"{where}?metadata=skip"
    assert (
        environment.variables(found, state=tmp_path / "state", passphrase=PASSPHRASE) == variables
    )
    assert not (tmp_path / "state" / "home" / "logs").exists()
    environment.variables(found, state=tmp_path / "state", passphrase=PASSPHRASE, logs=False)
    assert (tmp_path / "state" / "home" / "logs").is_file()


def test_without_an_engine_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert environment.find(tmp_path) is None


@pytest.mark.parametrize("main", ["language.host", "kubernetes.provider"])
def test_a_plugin_starts_with_the_engines_messages_and_not_with_the_sdk(main: str):
    code = f"""if True:
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from testbed.plugins import messages
        messages.alone()
        import testbed.plugins.{main}
        print(*sorted(m for m in sys.modules if m.startswith("pulumi") and "proto" not in m))"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=SHORTER,
    )
    assert done.stdout.split() == ["pulumi", "pulumi.runtime"]
