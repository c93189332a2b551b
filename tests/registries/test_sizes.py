"""Sizes of images, asked of a registry on this machine that is as unkind as real ones."""

from http.client import RemoteDisconnected
from urllib.error import URLError

import pytest

from gpuyard.registries import fetching
from gpuyard.registries.manifests import ImageName, image_name
from gpuyard.registries.sizes import AT_ONCE, ImageSize, fetch_image_sizes
from kit.every import every
from kit.supply.registry import DOCKER, DOCKER_LIST, OCI, OCI_INDEX, SCHEMA_1, Registry, serving

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
BOTH = ("amd64", "arm64")
MANIFEST = "/v2/gpu/kueue/manifests/1.0"


@pytest.fixture
def registry():
    there = Registry()
    with serving(there):
        yield there


@pytest.fixture
def slept(monkeypatch):
    """Seconds that were to be waited; nobody waits."""
    seconds = []
    monkeypatch.setattr(fetching.time, "sleep", seconds.append)
    return seconds


def ask(registry, name="gpu/kueue", at="1.0", processors=BOTH):
    one = image_name(f"{registry.host}/{name}", at)
    return fetch_image_sizes([one], processors)[one]


def two(registry, kind=OCI_INDEX, of=OCI):
    """An image for both processors."""
    members = {
        arch: registry.image("gpu/kueue", layers={arch: size, "base": 500}, kind=of)
        for arch, size in (("amd64", 10_000), ("arm64", 20_000))
    }
    return registry.index("gpu/kueue", "1.0", kind=kind, **members)


@every("kind, of", [(OCI_INDEX, OCI), (DOCKER_LIST, DOCKER)])
def test_each_processor_has_the_size_of_its_own_manifest(kind, of):
    there = Registry()
    with serving(there):
        digest = two(there, kind, of)
        assert ask(there) == ImageSize({"amd64": 11_500, "arm64": 21_500})
        assert ask(there, at=digest, processors=("arm64", "riscv64")) == ImageSize(
            {"arm64": 21_500}
        )


def test_one_manifest_is_for_any_processor_and_asked_for_once(registry):
    registry.image("gpu/kueue", "1.0", layers={"a": 7_000, "b": 2_000})
    assert ask(registry) == ImageSize({"any": 10_000})
    assert sum(registry.asked.values()) == 1


def test_a_token_is_fetched_once_and_shown_with_every_further_question(registry):
    two(registry)
    registry.tokens["gpu/kueue"] = "secret"
    assert ask(registry).compressed == {"amd64": 11_500, "arm64": 21_500}
    assert [path.partition("?")[0] for path, _ in registry.seen[:3]] == [
        MANIFEST,
        "/token",
        MANIFEST,
    ]
    assert sum("/token" in path for path, _ in registry.seen) == 1


@every(
    "challenge, said",
    [
        ('Basic realm="registry"', "it requires authentication"),
        ('Bearer realm="http://auth.example/token"', "it requires authentication"),
        ("", "it requires authentication"),
    ],
)
def test_whoever_wants_a_password_is_not_given_one(challenge, said):
    there = Registry()
    with serving(there):
        two(there)
        there.tokens["gpu/kueue"] = "secret"
        there.challenge = lambda _name: challenge
        assert ask(there) == ImageSize(reason=f"{there.host}: {said}")


@every(
    "answer, said",
    [
        ((401, {}, b""), "it requires authentication for this image"),
        ((200, {}, b"{}"), "the response has no token"),
        ((200, {}, b'{"token": "other"}'), "it requires authentication for this image"),
    ],
)
def test_a_token_that_is_refused_or_shows_nothing_ends_it(answer, said):
    there = Registry()
    with serving(there):
        two(there)
        there.tokens["gpu/kueue"] = "secret"
        path = "/token?scope=repository%3Agpu%2Fkueue%3Apull&service=registry.example"
        there.script[path] = [answer]
        assert ask(there) == ImageSize(reason=f"{there.host}: {said}")


def test_an_image_that_is_not_there_is_told_from_a_registry_that_is_not(registry):
    two(registry)
    assert ask(registry, at="2.0") == ImageSize(
        reason=f"{registry.host} has no such image", absent=True
    )
    only_arm = ask(registry, processors=("s390x",))
    assert only_arm.absent
    assert only_arm.reason == f"{registry.host} has it for amd64, arm64, but nodes are s390x"
    nobody = ImageName("127.0.0.1:1", "gpu/kueue", "1.0")
    found = fetch_image_sizes([nobody], BOTH)[nobody]
    assert not found.absent
    assert found.reason.startswith("127.0.0.1:1: it is unreachable: ")


def test_a_limit_is_waited_for_as_long_as_it_asks(registry, slept):
    two(registry)
    registry.script[MANIFEST] = [(429, {"Retry-After": "7"}, b""), (503, {}, b"")]
    assert ask(registry).compressed
    assert slept == [7.0, 2.0]


@every(
    "answers, said, waited",
    [
        (
            [(429, {"Retry-After": "3600"}, b"")],
            "it limits the request rate; retry in 3600 s",
            [],
        ),
        (
            [(429, {"Retry-After": "Thu, 26 Nov 2026 10:00:00 GMT"}, b"")] * 3,
            "it limits the request rate; retry in Thu, 26 Nov 2026 10:00:00 GMT s",
            [1.0, 2.0],
        ),
        ([(429, {}, b"")] * 3, "it limits the request rate; retry later", [1.0, 2.0]),
        ([(502, {}, b"")] * 3, "it failed: HTTP 502", [1.0, 2.0]),
        ([(418, {}, b"")], "it responds with HTTP 418", []),
        ([(403, {}, b"")], "it requires authentication for this image", []),
        ([(200, {"Content-Type": "text/html"}, b"<html>")], "the response is not JSON", []),
        ([(200, {}, b"{" + b" " * fetching.MOST)], "its response is larger than 4 MiB", []),
        ([(200, {"Content-Length": "99"}, b"{}")], "its response is truncated", []),
    ],
)
def test_what_a_registry_says_instead_is_said(answers, said, waited):
    there, slept = Registry(), []
    with serving(there), pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetching.time, "sleep", slept.append)
        there.script[MANIFEST] = list(answers)
        found = ask(there)
    assert found.reason.startswith(f"{there.host}: {said}")
    assert (found.absent, slept) == (False, waited)


def test_a_registry_that_does_not_answer_is_not_waited_for(registry, monkeypatch):
    monkeypatch.setattr(fetching, "SECONDS", 0.2)
    monkeypatch.setattr(
        Registry, "answer", lambda *_: __import__("time").sleep(1) or (200, {}, b"")
    )
    assert ask(registry).reason == f"{registry.host}: it did not respond within 0 seconds"


@every(
    "error, said",
    [
        (TimeoutError(), "it did not respond within 15 seconds"),
        (URLError(TimeoutError()), "it did not respond within 15 seconds"),
        (URLError("Name or service not known"), "it is unreachable: Name or service not known"),
        (RemoteDisconnected("closed"), "it is unreachable: closed"),
        (ConnectionResetError(), "it is unreachable: ConnectionResetError"),
    ],
)
def test_why_a_registry_is_not_reached_is_said(error, said):
    def fails(*_given, **_more):
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetching._OPENER, "open", fails)
        one = image_name("registry.example/gpu/kueue", "1.0")
        assert fetch_image_sizes([one], BOTH)[one].reason == f"registry.example: {said}"


def test_a_redirect_is_followed_and_another_host_is_not_shown_the_token(registry):
    other = Registry()
    with serving(other):
        two(registry)
        two(other)
        registry.tokens["gpu/kueue"] = "secret"
        registry.script[MANIFEST] = [
            (401, {"WWW-Authenticate": registry.challenge("gpu/kueue")}, b""),
            (307, {"Location": f"http://{other.host}{MANIFEST}"}, b""),
        ]
        assert ask(registry).compressed
        (_, headers), *_ = other.seen
    assert "Authorization" not in headers
    assert headers["Accept"]
    assert any(headers.get("Authorization") == "Bearer secret" for _, headers in registry.seen)


def test_who_is_sent_on_for_ever_or_nowhere_ends(registry):
    round_and_round = (302, {"Location": MANIFEST}, b"")
    registry.script[MANIFEST] = [round_and_round] * 9
    assert ask(registry).reason == f"{registry.host}: it redirects more than 5 times"
    registry.script[MANIFEST] = [(302, {"Location": "ftp://files.example/x"}, b"")]
    assert f"{registry.host}: it is unreachable" in ask(registry).reason


def test_from_tls_nobody_is_sent_on_without_it(monkeypatch):
    moved = fetching.RegistryAnswer(307, {"Location": "http://plain.example/x"}, b"")
    monkeypatch.setattr(fetching, "_once", lambda *_: moved)
    with pytest.raises(
        fetching.NoResponse, match=r"it redirects to http://plain\.example, without TLS"
    ):
        fetching.fetch("https://registry.example/x", {})


def test_a_document_that_is_not_what_its_digest_names_is_not_believed(registry):
    digest = two(registry)
    kind, _ = registry.documents["gpu/kueue", digest]
    registry.documents["gpu/kueue", digest] = kind, b'{"manifests": []}'
    why = f"{registry.host}: it returns a document with another digest"
    assert ask(registry, at=digest) == ImageSize(reason=why)


def test_the_first_kind_of_manifest_says_no_sizes(registry):
    registry.put("gpu/kueue", {"fsLayers": []}, SCHEMA_1, "1.0")
    assert ask(registry).reason == f"{registry.host}: it is a {SCHEMA_1}"


def test_many_are_asked_at_once_each_once_and_one_that_fails_hinders_no_other(registry):
    names = [f"gpu/{number}" for number in range(3 * AT_ONCE)]
    for name in names[1:]:
        registry.image(name, "1.0", layers={"a": 1_000})
    images = [image_name(f"{registry.host}/{name}", "1.0") for name in names]
    found = fetch_image_sizes([*images, *images], BOTH)
    assert [found[each].compressed for each in images[1:]] == [{"any": 2_000}] * (len(names) - 1)
    assert found[images[0]].absent
    assert set(registry.asked.values()) == {1}
