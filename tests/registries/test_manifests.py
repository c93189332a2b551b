"""What registries say of an image, read without one."""

import json

import pytest

from gpuyard.registries.manifests import (
    Unreadable,
    compressed_size_bytes,
    image_name,
    platform_manifests,
    token_in,
    token_url,
)
from kit.every import every
from kit.supply.registry import DOCKER, DOCKER_LIST, OCI, OCI_INDEX, SCHEMA_1, part

SHA = "sha256:" + "0" * 64


@every(
    "repository, host, name",
    [
        ("nvcr.io/nvidia/driver", "nvcr.io", "nvidia/driver"),
        ("mirror.example:5000/gpu/kueue", "mirror.example:5000", "gpu/kueue"),
        ("localhost/kueue", "localhost", "kueue"),
        ("python", "registry-1.docker.io", "library/python"),
        ("bitnami/kubectl", "registry-1.docker.io", "bitnami/kubectl"),
        ("docker.io/python", "registry-1.docker.io", "library/python"),
        ("docker.io/library/python", "registry-1.docker.io", "library/python"),
        ("index.docker.io/bitnami/kubectl", "registry-1.docker.io", "bitnami/kubectl"),
    ],
)
def test_a_name_is_read_as_container_runtimes_read_it(repository, host, name):
    found = image_name(repository, "1.0")
    assert (found.host, found.name) == (host, name)


def test_a_digest_goes_before_a_tag_and_only_this_machine_is_asked_without_tls():
    assert image_name("a.b/c", "1.0", SHA).url() == f"https://a.b/v2/c/manifests/{SHA}"
    assert image_name("a.b/c", "1.0").url() == "https://a.b/v2/c/manifests/1.0"
    assert image_name("127.0.0.1:5/c", "1").url(SHA) == f"http://127.0.0.1:5/v2/c/manifests/{SHA}"
    assert image_name("127.0.0.1.example/c", "1").url().startswith("https://")


@every(
    "challenge, url",
    [
        (
            'Bearer realm="https://auth.example/token",service="reg",scope="repository:a/b:pull"',
            "https://auth.example/token?scope=repository%3Aa%2Fb%3Apull&service=reg",
        ),
        (
            'bearer Realm="https://auth.example/token?x=1"',
            "https://auth.example/token?x=1&scope=repository%3Aa%2Fb%3Apull",
        ),
        (
            'Bearer realm="http://127.0.0.1:5/token", service=reg',
            "http://127.0.0.1:5/token?scope=repository%3Aa%2Fb%3Apull&service=reg",
        ),
        ('Basic realm="https://auth.example"', None),
        ('Bearer realm="http://auth.example/token"', None),
        ('Bearer realm="file:///etc/passwd"', None),
        ("Bearer", None),
        ("", None),
    ],
)
def test_a_token_is_asked_for_where_the_challenge_says_and_over_tls_alone(challenge, url):
    assert token_url(challenge, "a/b") == url


def document(kind, typed=True, **tree):
    return json.dumps({**({"mediaType": kind} if typed else {}), **tree}).encode()


@every("kind", [OCI_INDEX, DOCKER_LIST])
def test_of_an_index_those_for_linux_are_taken_and_of_variants_the_first(kind):
    listed = [
        {"digest": digest, "platform": {"os": system, "architecture": arch, "variant": variant}}
        for digest, system, arch, variant in (
            ("a", "linux", "amd64", ""),
            ("b", "windows", "arm64", ""),
            ("c", "linux", "arm64", "v8"),
            ("d", "linux", "arm64", "v9"),
            ("e", "unknown", "unknown", ""),
        )
    ]
    broken = [{"digest": "f"}, "g", {"platform": {"os": "linux", "architecture": "s390x"}}]
    body = document(kind, manifests=[*broken, *listed])
    assert platform_manifests(body, "") == {"amd64": "a", "arm64": "c"}


@every("kind", [OCI, DOCKER])
def test_a_layer_that_stands_twice_is_pulled_once(kind):
    layers = [part("a", 300), part("b", 20), part("a", 300)]
    body = document(kind, config=part("c", 1), layers=layers)
    assert platform_manifests(body, "") is None
    assert compressed_size_bytes(body, "") == 321


def test_a_document_without_a_type_is_what_the_answer_says_it_is():
    body = document(OCI, typed=False, config=part("c", 1), layers=[part("a", 2)])
    assert compressed_size_bytes(body, f"{OCI}; charset=utf-8") == 3
    with pytest.raises(Unreadable, match="it is a text/plain"):
        compressed_size_bytes(body, "text/plain")
    with pytest.raises(Unreadable, match="it is a document of no type"):
        compressed_size_bytes(body, "")


@every(
    "body, said",
    [
        (b"<html>", "the response is not JSON"),
        (b"\xff", "the response is not JSON"),
        (b"[]", "the response is not an object"),
        (document(SCHEMA_1, fsLayers=[]), "it is a application/vnd.docker"),
        (document(OCI), "its manifest has a part without a size"),
        (document(OCI, config=part("c", 1), layers=[]), "its manifest has a part without a size"),
        (document(OCI, config=part("c", 1), layers=[{"digest": "d"}]), "a part without a size"),
        (document(OCI, config=part("c", 1), layers=[part("d", -1)]), "a part without a size"),
        (document(OCI, config=part("c", 1), layers=[part("d", True)]), "a part without a size"),
        (document(OCI, config=part("c", 1), layers=["d"]), "a part without a size"),
    ],
)
def test_what_says_no_size_is_not_taken_for_one(body, said):
    with pytest.raises(Unreadable) as refused:
        compressed_size_bytes(body, "")
    assert said in str(refused.value)


def test_an_index_of_nothing_and_an_answer_without_a_token_are_unreadable():
    with pytest.raises(Unreadable, match="the index has no manifests"):
        platform_manifests(document(OCI_INDEX, manifests=None), "")
    assert token_in(b'{"access_token": "t"}') == "t"
    for body in (b"{}", b'{"token": 1}'):
        with pytest.raises(Unreadable, match="the response has no token"):
            token_in(body)
