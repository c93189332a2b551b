"""The idle program where it meets the outside: settings, servers, its own account, the command line."""

import json
import runpy
import socket
import ssl
import struct
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from gpuyard_agents import agent
from gpuyard_agents.agent import SettingsError, read_settings
from gpuyard_agents.client import JsonClient, RequestRejected, Unreachable
from gpuyard_agents.idle import __main__ as command
from gpuyard_agents.idle.settings import Settings
from kit.cluster import idle

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

HERE = Path(__file__).parent
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


# ── settings ──────────────────────────────────────────────────────────────────────────────────────


def test_settings_are_read_whole():
    found = read_settings(Settings, json.dumps(idle.settings(grace_minutes=7)))
    assert (found.platform, found.teams[0].grace_minutes) == ("lab", 7)
    assert found.signals[0].metric == idle.ENGINE
    assert found.labels.device == ("UUID", "GPU_I_ID", "vgpu")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON: "),
        ("[]", "invalid settings: "),
        ("{}", "invalid settings: "),
        (json.dumps(idle.settings(more=1)), "missing or unknown more"),
        (
            json.dumps(idle.settings(teams=[{"name": "a"}])),
            "Team: missing or unknown after_minutes",
        ),
        (json.dumps(idle.settings(signals=None)), "invalid settings: "),
    ],
    ids=["no JSON", "a list", "empty", "a field too much", "a field too few", "nothing"],
)
def test_settings_that_are_not_ours_are_refused(text, says):
    with pytest.raises(SettingsError) as caught:
        read_settings(Settings, text)
    assert says in str(caught.value)


# ── servers ───────────────────────────────────────────────────────────────────────────────────────


class Line:
    """A server of scripted bytes: for each connection what it answers to each request, then it hangs up.

    With `reset` it does so with a reset instead of a farewell, as a server does that was killed.
    """

    def __init__(self, *connections, reset=False):
        self._connections = connections
        self._reset = reset
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.heard = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        for answers in self._connections:
            line, _ = self.socket.accept()
            with line, suppress(OSError):
                if self._reset:
                    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                for answer in answers:
                    self.heard.append(line.recv(65536).decode("latin-1"))
                    line.sendall(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._thread.join(5)
        self.socket.close()


def refused(server, kind=Unreachable):
    """What is said when something is asked of it."""
    with pytest.raises(kind) as caught:
        server.request_json("GET", "/a")
    return str(caught.value)


@pytest.mark.parametrize("url", ["prometheus:9090", "file:///etc/passwd", "http://", ""])
def test_what_is_no_address_is_said_at_once(url):
    with pytest.raises(Unreachable, match="is not an address such as http://HOST:PORT"):
        JsonClient(url)


def test_a_path_in_the_address_stays_and_the_token_goes_along():
    with Line([ANSWER]) as line, closing(JsonClient(f"{line.url}/base/", "secret")) as server:
        assert server.request_json("GET", "/x") == {}
    assert line.heard[0].startswith("GET /base/x HTTP/1.1\r\n")
    assert "Authorization: Bearer secret\r\n" in line.heard[0]


@pytest.mark.parametrize("reset", [False, True], ids=["with a farewell", "with a reset"])
def test_a_line_that_was_closed_meanwhile_is_opened_again(reset):
    with Line([ANSWER], [ANSWER], reset=reset) as line, closing(JsonClient(line.url)) as server:
        assert server.request_json("GET", "/a") == {}
        time.sleep(0.05)
        assert server.request_json("GET", "/b") == {}
    assert len(line.heard) == 2


def test_a_server_that_hangs_up_twice_is_unreachable():
    with Line([b""], [b""]) as line, closing(JsonClient(line.url)) as server:
        assert refused(server).endswith(
            "closed the connection: Remote end closed connection without response"
        )


@pytest.mark.parametrize("text", [b"<html>", b"[]"])
def test_an_answer_that_is_no_object_is_none(text):
    answer = ANSWER.replace(b"{}", text).replace(b"2\r\n\r\n", b"%d\r\n\r\n" % len(text))
    with Line([answer]) as line, closing(JsonClient(line.url)) as server:
        assert refused(server) == f"the answer of {line.url} is not a JSON object"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"message": "no"}', "503: no"),
        (b'{"error": "later"}', "503: later"),
        (b"{}", "503: "),
        (b"<html>", "503: <html>"),
    ],
)
def test_a_refusal_says_what_the_server_says(text, says):
    answer = b"HTTP/1.1 503 No\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
    with Line([answer]) as line, closing(JsonClient(line.url)) as server:
        assert refused(server, RequestRejected) == says


def test_what_speaks_no_tls_is_unreachable():
    with Line([b"what?"]) as line, closing(JsonClient(line.url.replace("p:", "ps:"))) as server:
        assert "does not answer: SSL" in refused(server)


def test_an_authority_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Unreachable, match=f"no certificate authority in {tmp_path}/ca.crt: "):
        JsonClient("https://127.0.0.1:9", authority=str(tmp_path / "ca.crt"))


# ── inside a cluster ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("host", "url"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_a_pod_finds_the_api_server_and_its_own_account(tmp_path, monkeypatch, host, url):
    seen = []

    def context(cafile):
        seen.append(cafile)
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(ssl, "create_default_context", context)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    options = agent.parser("x").parse_args(["--settings", "x", "--account", str(tmp_path)])
    server = agent.connect(options)
    assert (server.url, seen) == (url, [str(tmp_path / "ca.crt")])
    assert server._headers["Authorization"] == "Bearer secret"


def settings_file(tmp_path, **changes):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(idle.settings(**changes)), encoding="utf-8")
    return str(path)


def test_inside_it_needs_nothing_but_its_settings(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "connect", lambda _: JsonClient("http://127.0.0.1:9"))
    assert command.main(["--settings", settings_file(tmp_path)]) == 1
    assert "skipped: team vision: http://127.0.0.1:9 does not answer" in capsys.readouterr().out


@pytest.mark.parametrize("missing", ["settings", "account"])
def test_what_it_cannot_read_it_names(tmp_path, monkeypatch, capsys, missing):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    path = settings_file(tmp_path) if missing == "account" else str(tmp_path / "none.json")
    assert command.main(["--settings", path]) == 2
    where = "serviceaccount/token" if missing == "account" else "none.json"
    assert where in capsys.readouterr().out


def test_a_time_with_its_own_zone_keeps_it():
    assert command._moment("2026-11-21T13:00:00+01:00") == idle.NOW
    assert command._moment("2026-11-21T12:00:00") == idle.NOW


def test_it_runs_as_a_module(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "gpuyard_agents.idle.__main__")
    monkeypatch.setattr(sys, "argv", ["gpuyard_agents.idle", "--help"])
    with pytest.raises(SystemExit) as caught:
        runpy.run_module("gpuyard_agents.idle", run_name="__main__")
    assert caught.value.code == 0
    assert "--settings" in capsys.readouterr().out
