"""A warm program has the same environment as a separate process, and never outlives its requester."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

import pytest
from testbed.plugins.environment import PLUGINS, PROVIDER
from testbed.plugins.warm.child import Warm, start, start_read

from kit.cluster.warm import warm

__all__ = ["warm"]
pytestmark = pytest.mark.engine  # real processes and a port of this machine; no engine is needed

PROGRAM = """
import atexit, json, os, sys, threading
atexit.register(lambda: print("after all", flush=True))
later = threading.Timer(0.2, lambda: print("later", flush=True))
later.start()
print(json.dumps([sys.argv, os.getcwd(), dict(os.environ), sys.path, __name__]), flush=True)
sys.exit(3)
"""


def ran(command, environment, folder):
    """The output and exit code of a command."""
    reading, writing = os.pipe()
    mine = os.dup(1)
    os.dup2(writing, 1)
    try:
        child = start(command, environment, str(folder))
    finally:
        os.dup2(mine, 1)
        os.close(mine)
        os.close(writing)
    with os.fdopen(reading) as output:
        said = output.read().splitlines()
    return type(child), json.loads(said[0]), said[1:], child.wait()


@pytest.mark.usefixtures("warm")
def test_a_program_finds_what_it_would_find_cold(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py"), "--one", "two"]
    environment = {**os.environ, "MINE": "3"}
    without = {name: value for name, value in environment.items() if name != "GPUYARD_WARM"}
    kind, found, said, code = ran(command, environment, tmp_path)
    other, expected, _, _ = ran(command, without, tmp_path)
    assert (kind, other) == (Warm, subprocess.Popen)
    found[2].pop("GPUYARD_WARM")
    assert found == expected
    assert (said, code) == (["later", "after all"], 3)


@pytest.mark.usefixtures("warm")
def test_another_setting_of_python_starts_it_cold(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py")]
    kind, found, _, _ = ran(command, {**os.environ, "PYTHONHASHSEED": "7"}, tmp_path)
    assert (kind, found[2]["PYTHONHASHSEED"]) == (subprocess.Popen, "7")


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_plugin_ends_with_what_the_engine_knows_of_it(how):
    plugin = [str(PLUGINS / "bin" / PROVIDER), "127.0.0.1:1"]
    with subprocess.Popen(plugin, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline())
        process.send_signal(how)
        assert process.wait() == (-how if how is signal.SIGKILL else 0)
        assert process.stdout.read() == ""  # no process has it open any more


@pytest.mark.usefixtures("warm")
def test_a_plugin_ends_with_an_engine_that_is_killed():
    plugin = f"{PLUGINS / 'bin' / PROVIDER} 127.0.0.1:1 & wait"
    with subprocess.Popen(["sh", "-c", plugin], stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        assert int(engine.stdout.readline())
        engine.kill()
        assert engine.stdout.read() == ""  # no process has it open any more


def test_a_plugin_ends_with_an_engine_that_is_killed_before_the_plugin_is_there(
    tmp_path, monkeypatch
):
    """On a busy machine a late query of the engine's process id returns another process's."""
    monkeypatch.setenv("GPUYARD_WARM", str(tmp_path))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "plugins"))
        server.listen()
        server.settimeout(60)
        plugin = f"{PLUGINS / 'bin' / PROVIDER} 127.0.0.1:1 & wait"
        with subprocess.Popen(["sh", "-c", plugin]) as engine:
            link, _ = server.accept()
            engine.kill()
        with link:
            link.settimeout(60)
            _, descriptors, _, _ = socket.recv_fds(link, 1 << 20, 3)
            link.sendall(b"y")
            while link.recv(1 << 20):
                pass  # the rest of its request; then it closes the connection, which kills a plugin
        for each in descriptors:
            os.close(each)


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["aws", "--version"], 0),
        (["aws", "eks", "get-token", "--cluster-name", "lab", "--region", "us-east-1"], 0),
        (["aws", "eks", "get-token"], 252),
        (["aws", "s3", "ls"], 252),
        (["gke-gcloud-auth-plugin"], 0),
        (["gke-gcloud-auth-plugin", "--cache"], 1),
    ],
)
def test_who_asks_for_a_token_is_answered_as_by_a_cold_program(tmp_path, words, code):
    """By its name and exit code: a kubeconfig's program is started for each client of a cluster."""
    (tmp_path / "account").mkdir()
    environment = {**os.environ, "GPUYARD_FAKE_CLOUD": str(tmp_path / "account")}
    without = {name: value for name, value in environment.items() if name != "GPUYARD_WARM"}
    program = str(PLUGINS / "cloud" / "bin" / words[0])

    def ended(env):
        run = subprocess.run([program, *words[1:]], env=env, capture_output=True, check=False)
        return run.returncode, re.sub(rb"[0-9:]{8}Z", b"", run.stdout), run.stderr

    found = ended(environment)
    assert found == ended(without)
    assert found[0] == code


PACK = """
import json, os, sys
said = [sys.argv, os.getcwd(), dict(os.environ), sys.path, __name__]
sys.stderr.write("it complains")
print(json.dumps(said), end="")
os._exit(4)  # what was said has gone out: nobody flushes here
"""


def read(command, environment, folder):
    """The stdout, stderr and exit code of a command."""
    child = start_read(command, environment, str(folder))
    assert child.stdout is not None
    assert child.stderr is not None
    with child.stdout, child.stderr:
        said, complained = child.stdout.read(), child.stderr.read()
    return type(child), json.loads(said), complained, child.wait()


@pytest.mark.usefixtures("warm")
def test_a_policy_pack_finds_what_it_would_find_cold(tmp_path):
    """Its output is unbuffered, as with `-u`."""
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "__main__.py").write_text(PACK)
    command = [sys.executable, "-u", "-m", "pulumi.policy", "127.0.0.1:1", str(pack)]
    environment = {**os.environ, "MINE": "3"}
    without = {name: value for name, value in environment.items() if name != "GPUYARD_WARM"}
    kind, found, complained, code = read(command, environment, pack)
    other, expected, _, _ = read(command, without, pack)
    assert (kind, other) == (Warm, subprocess.Popen)
    found[2].pop("GPUYARD_WARM")
    assert found == expected
    assert (complained, code) == (b"it complains", 4)


@pytest.mark.usefixtures("warm")
def test_a_component_starts_cold(tmp_path):
    (tmp_path / "__main__.py").write_text(PACK)
    command = [sys.executable, "-u", str(tmp_path), "one"]
    kind, found, complained, code = read(command, dict(os.environ), tmp_path)
    assert (kind, found[0][1:], complained, code) == (
        subprocess.Popen,
        ["one"],
        b"it complains",
        4,
    )
