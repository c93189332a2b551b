"""Whether a cluster that exists answers: who is asked, how long, and what waits for it."""

import base64
import http.server
import threading
import time

import pulumi
import pytest

from gpuyard.resources import EksCluster, Platform
from gpuyard.resources.clusters import connectivity
from kit.clouds import answers
from kit.clouds.given import account_with
from kit.every import every
from kit.stacks import platform, pool, team

AWS = platform(
    [pool(zones=["us-east-1a"])],
    [team(guarantee={"train": 8})],
    cloud="aws",
    system=None,
    cluster={"existing": "blue"},
)
GCP = platform(
    [pool(machine="a3-megagpu-8g", zones=["us-central1-a"], capacity=["on-demand"])],
    [team(guarantee={"train": 8})],
    cloud="gcp",
    system=None,
    cluster={"existing": "blue"},
)
CLOUD_KINDS = ("aws:", "gcp:")


@pytest.fixture
def asked(monkeypatch):
    """Who was asked; the answer is what `says` has, empty for one that answers."""
    found = {"at": [], "says": ""}

    def silence(endpoint, authority):
        found["at"].append((endpoint, authority and base64.b64decode(authority)[:10]))
        return found["says"]

    monkeypatch.setattr(connectivity, "unreachable_message", silence)
    monkeypatch.setattr(connectivity, "_is_mocked", lambda: False)
    monkeypatch.delenv(connectivity.DELETE_UNREACHABLE_VARIABLE, raising=False)
    return found


def runner(mocks, raw):
    return mocks.with_settings(outputs=answers.outputs, calls=answers.calls(account_with(raw)))


def program(raw, make=None):
    def run():
        pulumi.runtime.set_config("aws:region", "us-east-1")
        pulumi.runtime.set_config("gcp:region", "us-central1")
        (make or (lambda: Platform("lab", {"platform": raw})))()

    return run


def made(graph):
    return [one.type for one in graph if one.custom and one.type.startswith(CLOUD_KINDS)]


@pytest.mark.parametrize("raw", [AWS, GCP], ids=["aws", "gcp"])
def test_a_cluster_that_does_not_answer_is_one_message_and_nothing_is_made(
    pulumi_mocks, asked, raw
):
    asked["says"] = "[Errno 111] Connection refused"
    with pytest.raises(pulumi.RunError) as caught:
        runner(pulumi_mocks, raw).run(program(raw))
    ((endpoint, _),) = asked["at"]
    assert str(caught.value) == (
        f"cluster.existing: the API server of the cluster blue does not answer at {endpoint}: "
        "[Errno 111] Connection refused\n  nothing was created or changed\n  fix: deploy from a "
        "network that reaches it (a private endpoint needs a VPN or a runner in its network), or "
        "add your address range to the allowed ones; if the cluster was deleted: "
        "PULUMI_K8S_DELETE_UNREACHABLE=true pulumi destroy"
    )
    assert endpoint.startswith("https://")


@pytest.mark.parametrize("raw", [AWS, GCP], ids=["aws", "gcp"])
def test_one_that_answers_is_asked_once_and_before_anything_is_made(pulumi_mocks, asked, raw):
    seen = []

    def outputs(resource):
        if resource.custom and resource.type.startswith(CLOUD_KINDS):
            seen.append(len(asked["at"]))
        return answers.outputs(resource)

    graph = runner(pulumi_mocks, raw).with_settings(outputs=outputs).run(program(raw))
    assert set(seen) == {1}
    ((endpoint, authority),) = asked["at"]
    config = graph.one("pulumi:providers:kubernetes").inputs["kubeconfig"]
    assert endpoint in config
    assert authority
    assert [each for each in made(graph) if each.endswith((":NodeGroup", ":NodePool"))]


def test_where_nobody_need_answer_nobody_is_asked(pulumi_mocks, asked, monkeypatch):
    own = platform([pool()], [team(guarantee={"train": 8})], cloud="aws")
    clouds = pulumi_mocks.with_settings(outputs=answers.outputs, calls=answers.calls())
    clouds.run(program(own))
    there = runner(pulumi_mocks, AWS)
    there.run(program({**AWS, "apply": "render"}))
    there.run(program(AWS, lambda: EksCluster("lab", {"platform": AWS})))

    def through_a_way_of_ones_own():
        given = pulumi.ProviderResource("kubernetes", "mine", {})
        Platform("lab", {"platform": AWS}, pulumi.ResourceOptions(providers=[given]))

    there.run(program(AWS, through_a_way_of_ones_own))
    monkeypatch.setenv(connectivity.DELETE_UNREACHABLE_VARIABLE, "true")
    there.run(program(AWS))
    monkeypatch.delenv(connectivity.DELETE_UNREACHABLE_VARIABLE)
    assert asked["at"] == []


def test_a_test_of_a_program_asks_nobody(pulumi_mocks, monkeypatch):
    asked = []
    monkeypatch.setattr(connectivity, "unreachable_message", lambda *at: asked.append(at))
    runner(pulumi_mocks, AWS).run(program(AWS))
    assert asked == []


def fails(*problems):
    """Questions that end so, one after the other."""
    left = list(problems)

    def ask(_endpoint, _authority):
        if problem := left.pop(0):
            raise problem

    return ask


@every(
    ("problems", "says"),
    [
        ([None], ""),
        ([ConnectionRefusedError("refused"), None], ""),
        ([OSError("first"), OSError("second")], "second"),
        ([TimeoutError(), TimeoutError()], "TimeoutError"),
        ([ValueError("no certificate")] * 2, "no certificate"),
    ],
)
def test_it_is_asked_twice_and_the_last_reason_is_said(problems, says):
    assert connectivity.unreachable_message("https://blue", None, fails(*problems), pause=0) == says


def test_who_never_answers_is_waited_for_no_longer_than_said():
    forever = threading.Event()
    began = time.monotonic()
    said = connectivity.unreachable_message(
        "https://blue", None, lambda *_: forever.wait(), seconds=0.02, pause=0
    )
    forever.set()
    assert said == "no answer within 0 s"
    assert time.monotonic() - began < connectivity.SECONDS


class _Guarded(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401 if self.path == "/version" else 500)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_refusal_is_an_answer_and_a_closed_port_is_none():
    server = http.server.HTTPServer(("127.0.0.1", 0), _Guarded)
    at = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert connectivity.unreachable_message(at, None) == ""
    finally:
        server.shutdown()
        server.server_close()
    assert "refused" in connectivity.unreachable_message(at, None, pause=0)
    assert "certificate" in connectivity.unreachable_message(
        at, base64.b64encode(b"no PEM").decode(), pause=0
    )
