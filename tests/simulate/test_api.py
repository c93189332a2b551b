"""The small client against a server on this machine: what it sends, and what it makes of odd answers."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_simulate import api as module
from gpuyard_simulate.api import Api, ApiError, Unreachable, connect, wait_until_ready

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
NODES = "/api/v1/nodes"


class Server(ThreadingHTTPServer):
    """Answers each request with the next answer, the last one again and again; remembers all requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, bytes | list[bytes]]] = []
        self.asks_for: str | None = None
        """Seconds after which to come again, with every error."""
        self.hangs_up = 0
        """On so many requests, without a word."""
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []

    @property
    def api(self) -> Api:
        return Api(f"http://127.0.0.1:{self.server_address[1]}", "secret", "")

    def will_say(self, *answers: Any, status: int = 200) -> None:
        """A list is streamed block by block, bytes go as they are, anything else as JSON."""
        for answer in answers:
            raw = answer if isinstance(answer, bytes | list) else json.dumps(answer).encode()
            self.answers.append((status, raw))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        headers = {key.lower(): value for key, value in self.headers.items()}
        self.server.seen.append((self.command, self.path, headers, self.rfile.read(length)))
        if self.server.hangs_up:
            self.server.hangs_up -= 1
            self.close_connection = True
            return
        answers = self.server.answers
        status, body = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status)
        if status >= 400 and self.server.asks_for is not None:
            self.send_header("Retry-After", self.server.asks_for)
        if isinstance(body, bytes):
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for block in body:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
            self.wfile.flush()
            if block == b"\0":  # a server that dies in the middle of its sentence
                self.close_connection = True
                return
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815  the names of http.server

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join(5)


def event(kind: str, name: str) -> bytes:
    return json.dumps({"type": kind, "object": {"metadata": {"name": name}}}).encode() + b"\n"


# ── one request ──


def test_a_request_carries_the_token_and_says_that_it_wants_json(server: Server):
    server.will_say({"kind": "Node"})
    assert server.api.call("GET", f"{NODES}/a") == {"kind": "Node"}
    method, path, headers, body = server.seen[0]
    assert (method, path, body) == ("GET", f"{NODES}/a", b"")
    assert headers["authorization"] == "Bearer secret"
    assert headers["accept"] == "application/json"


def test_an_answer_that_is_no_object_is_kept_as_text(server: Server):
    server.will_say(b"ok")
    assert server.api.call("GET", "/readyz") == {"text": "ok"}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"message": "nodes \\"a\\" is forbidden"}', '403: nodes "a" is forbidden'),
        (b'{"code": 403}', "403: "),
        (b"upstream said no", "403: upstream said no"),
        (b"\xff\xfe", "403: \ufffd\ufffd"),
        (b"null", "403: null"),
        (b'["no", "way"]', '403: ["no", "way"]'),
        (b"", "403: "),
    ],
)
def test_a_refusal_says_its_status_and_what_the_server_said_in_any_form(
    server: Server, body: bytes, says: str
):
    server.will_say(body, status=403)
    with pytest.raises(ApiError) as caught:
        server.api.call("GET", NODES)
    assert (caught.value.status, str(caught.value)) == (403, says)


def test_a_long_page_of_an_error_is_cut_off(server: Server):
    server.will_say(b"x" * 10_000, status=502)
    with pytest.raises(ApiError) as caught:
        server.api.call("GET", NODES)
    assert len(str(caught.value)) == len("502: ") + 500


def test_only_a_404_is_nothing_there_every_other_refusal_is_told(server: Server):
    server.will_say({"message": "not found"}, status=404)
    server.will_say({"message": "no such user"}, status=401)
    assert server.api.get(f"{NODES}/a") is None
    with pytest.raises(ApiError, match="401: no such user"):
        server.api.get(f"{NODES}/a")


def test_apply_is_server_side_as_our_field_manager_and_takes_conflicts_over(server: Server):
    server.will_say({})
    manifest = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    server.api.apply(manifest)
    method, path, headers, body = server.seen[0]
    assert (method, path) == ("PATCH", f"{NODES}/a?fieldManager=gpuyard-sim&force=true")
    assert headers["content-type"] == "application/apply-patch+yaml"
    assert json.loads(body) == manifest


def test_a_merge_sends_none_as_null_which_removes(server: Server):
    server.will_say({})
    server.api.patch(f"{NODES}/a", {"metadata": {"labels": {"x": None}}})
    method, path, headers, body = server.seen[0]
    assert (method, path) == ("PATCH", f"{NODES}/a?fieldManager=gpuyard-sim")
    assert headers["content-type"] == "application/merge-patch+json"
    assert body == b'{"metadata": {"labels": {"x": null}}}'


def test_where_nobody_listens_is_unreachable_at_once_and_not_ready(server: Server):
    gone = server.api
    server.shutdown()
    server.server_close()
    with pytest.raises(Unreachable):
        gone.call("GET", NODES)
    with pytest.raises(Unreachable):
        next(gone.watch(NODES, "1"))
    assert gone.is_ready() is False
    assert wait_until_ready(gone, 0.2) is False


def test_a_server_that_hangs_is_unreachable_after_the_time_allowed(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    silent = threading.Event()
    monkeypatch.setattr(Handler, "_hang", lambda _: silent.wait(5), raising=False)
    monkeypatch.setattr(Handler, "do_GET", lambda handler: handler._hang())
    try:
        with pytest.raises(Unreachable, match="timed out"):
            server.api.call("GET", NODES, timeout=urllib3.Timeout(connect=1, read=0.1))
    finally:
        silent.set()


@pytest.mark.parametrize("status", [429, 500, 503, 504])
def test_a_server_that_asks_for_a_moment_is_asked_again_after_it(server: Server, status: int):
    server.asks_for = "0"
    server.will_say({"message": "storage is (re)initializing"}, status=status)
    server.will_say({"kind": "Node"})
    assert server.api.call("POST", NODES, {"a": 1}) == {"kind": "Node"}
    assert [(method, body) for method, _, _, body in server.seen] == [("POST", b'{"a": 1}')] * 2


def test_a_server_that_asks_for_more_and_more_time_is_given_up_in_its_words(server: Server):
    server.asks_for = "0"
    server.will_say({"message": "too many requests"}, status=429)
    with pytest.raises(ApiError, match="429: too many requests"):
        server.api.call("GET", NODES)
    assert len(server.seen) == module.ATTEMPTS


RACED = {"reason": "Conflict", "message": "the object has been modified"}
TAKEN = {"reason": "Conflict", "details": {"causes": [{"reason": "FieldManagerConflict"}]}}
OF_A_VERSION = {"metadata": {"resourceVersion": "7"}}


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_what_is_made_or_changed_while_its_quota_changes_is_asked_for_again(
    server: Server, method: str
):
    server.will_say(RACED, status=409)
    server.will_say({"kind": "Job"})
    assert server.api.call(method, NODES, {}) == {"kind": "Job"}


@pytest.mark.parametrize(
    ("method", "body", "said"),
    [
        ("PATCH", OF_A_VERSION, RACED),
        ("PATCH", {}, TAKEN),
        ("PUT", {}, RACED),
        ("POST", {}, {"reason": "AlreadyExists", "message": "exists"}),
        ("POST", {}, b"no"),
    ],
    ids=["a version of one's own", "fields of another", "a replacement", "there", "no words"],
)
def test_any_other_conflict_is_told_at_once(server: Server, method: str, body: Any, said: Any):
    server.will_say(said, status=409)
    with pytest.raises(ApiError, match="409"):
        server.api.call(method, NODES, body)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("status", "asks_for", "passes"),
    [(409, "1", False), (500, None, True), (503, "tomorrow", True)],
)
def test_nobody_waits_where_no_moment_is_asked_for(
    server: Server, status: int, asks_for: str | None, passes: bool
):
    server.asks_for = asks_for
    server.will_say({"message": "no"}, status=status)
    with pytest.raises(ApiError, match=f"{status}: no") as caught:
        server.api.call("GET", NODES)
    assert len(server.seen) == 1
    assert caught.value.is_retryable is passes


def test_a_field_that_a_kind_does_not_have_is_never_taken_later():
    said = "failed to create typed patch object (/a; v1, Kind=Pod): .spec.x: field not declared in schema"
    assert not ApiError(500, said).is_retryable


def test_a_line_that_is_cut_is_tried_again_to_read_and_never_to_write(server: Server):
    server.will_say({"kind": "Node"})
    server.hangs_up = 1
    assert server.api.call("GET", NODES) == {"kind": "Node"}
    for method, cuts in (("GET", 2), ("POST", 1)):
        server.hangs_up = cuts
        with pytest.raises(Unreachable):
            server.api.call(method, NODES, {})
    assert [method for method, *_ in server.seen] == ["GET"] * 4 + ["POST"]


def test_ready_is_what_the_server_says_of_itself(server: Server):
    server.will_say(b"etcd failed", b"etcd failed", status=500)
    server.will_say(b"ok")
    assert server.api.is_ready() is False
    assert wait_until_ready(server.api, 5) is True
    assert {path for _, path, _, _ in server.seen} == {"/readyz"}
    assert len(server.seen) == 3


# ── watching ──


def test_a_watch_asks_from_a_version_on_with_bookmarks_and_for_a_limited_time(server: Server):
    server.will_say([event("ADDED", "a")])
    assert [kind for kind, _ in server.api.watch(NODES, "17")] == ["ADDED"]
    path, _, query = server.seen[0][1].partition("?")
    asked = dict(part.split("=") for part in query.split("&"))
    assert path == NODES
    assert asked == {
        "watch": "1",
        "resourceVersion": "17",
        "timeoutSeconds": str(module.WATCH_SECONDS),
        "allowWatchBookmarks": "true",
    }


def test_events_are_whole_however_the_stream_is_cut_into_blocks(server: Server):
    text = event("ADDED", "a") + event("MODIFIED", "b") + event("DELETED", "ü")
    server.will_say([text[i : i + 7] for i in range(0, len(text), 7)])
    seen = [(kind, item["metadata"]["name"]) for kind, item in server.api.watch(NODES, "1")]
    assert seen == [("ADDED", "a"), ("MODIFIED", "b"), ("DELETED", "ü")]


def test_a_stream_that_ends_inside_an_event_drops_the_half(server: Server):
    server.will_say([event("ADDED", "a"), b'{"type": "MODI'])
    assert [item["metadata"]["name"] for _, item in server.api.watch(NODES, "1")] == ["a"]


def test_a_server_that_dies_while_watched_is_unreachable_after_its_last_event(server: Server):
    server.will_say([event("ADDED", "a"), b"\0"])
    watch = server.api.watch(NODES, "1")
    assert next(watch)[0] == "ADDED"
    with pytest.raises(Unreachable):
        next(watch)


def test_a_version_that_is_too_old_is_the_servers_refusal(server: Server):
    server.will_say({"message": "too old resource version"}, status=410)
    with pytest.raises(ApiError, match="410: too old resource version"):
        next(server.api.watch(NODES, "1"))


# ── the kubeconfig ──


def kubeconfig(path: Path, **changes: Any) -> Path:
    certificate = base64.b64encode(b"certificate").decode()
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority-data": certificate}
    content = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        **changes,
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"clusters": []},
        {"clusters": [{"name": "c"}]},
        {"clusters": [{"cluster": {"server": "https://x"}}]},
        {"clusters": [{"cluster": {"server": "https://x", "certificate-authority-data": "x"}}]},
        {"clusters": [{"cluster": {"server": "https://x", "certificate-authority-data": "//79"}}]},
        {"clusters": "one"},
        {"users": [{"user": {"client-certificate": "/x"}}]},
        {"users": None},
    ],
    ids=str,
)
def test_a_kubeconfig_of_another_kind_is_named_with_the_way_to_one(
    tmp_path: Path, changes: dict[str, Any]
):
    path = kubeconfig(tmp_path / "config", **changes)
    with pytest.raises(EnvironmentMissing) as caught:
        connect(path)
    assert str(caught.value).startswith(f"{path} is not the kubeconfig of a simulated cluster (")
    assert str(caught.value).endswith("; run `python -m gpuyard_simulate up` to create one")


@pytest.mark.parametrize("content", [b"", b"- [", b"\xff\xfe\xfd", b"plain text"])
def test_a_file_that_is_no_mapping_is_no_kubeconfig(tmp_path: Path, content: bytes):
    (tmp_path / "config").write_bytes(content)
    with pytest.raises(EnvironmentMissing, match="is not the kubeconfig"):
        connect(tmp_path / "config")


def test_a_certificate_that_is_none_makes_the_server_unreachable_and_not_a_fault(tmp_path: Path):
    api = connect(kubeconfig(tmp_path / "config"))
    with pytest.raises(Unreachable):
        api.call("GET", "/readyz")
    assert api.is_ready() is False
