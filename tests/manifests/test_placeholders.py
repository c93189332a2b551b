"""Values that somebody fills in later, told from those that are meant."""

import pytest

from gpuyard_core.manifests.fields import UNKNOWN, PartlyKnown, PlaceholderText
from gpuyard_core.manifests.placeholders import (
    is_entirely_placeholder,
    is_no_image,
    is_placeholder,
    with_unknowns,
)
from kit.every import every


@every(
    "value",
    [
        *("$GPUS", "${GPUS}", "$(GPUS)", "<image>", "my-<team>", "{{ .Values.image }}", "%TOKEN%"),
        *("__IMAGE__", "xxxxxxxx", "replaced-by-kustomize", "REPLACE_ME", "your-bucket"),
        *("change-me", "FILLED BY THE OPERATOR", "placeholder"),
        *("@GPUS@", "REPLICAS_PLACEHOLDER", "${REPLICAS:=4}"),
    ],
)
def test_what_is_filled_in_later(value):
    assert is_placeholder(value)


@every("value", ["8", "", "5 < 6", "yours", "a$", "exchange", 8, None, "nvidia.com/gpu"])
def test_what_is_meant(value):
    assert not is_placeholder(value)


@every(
    "image",
    ["V_IMAGE_NAME", "registry/Team/app:v1", "$IMAGE:v1", "replaced:latest", "IMAGE@sha256:0"],
)
def test_no_registry_serves_what_is_no_name_of_an_image(image):
    assert is_no_image(image)


@every(
    "image", ["app", "app:V1", "r.example.org:5000/a", "r.example.org:5000/a:V2", "a@sha256:00FF"]
)
def test_a_tag_may_be_in_any_letters(image):
    assert not is_no_image(image)


@every(
    "value",
    [
        *("${GPUS}", "$GPUS", "$(GPUS)", "${GPUS:=4}", "${GPUS:-${ALL}}", "${{ inputs.gpus }}"),
        *("<gpus>", "<how many GPUs>", "{{ .Values.gpus }}", "'{{x}}'".strip("'"), " {{x}} "),
        *("@GPUS@", "__GPUS__", "%GPUS%", "%%GPUS%%", "#{GPUS}#", "GPUS_PLACEHOLDER"),
        *("REPLACE_ME", "CHANGEME"),
    ],
)
def test_all_of_a_value_is_filled_in(value):
    assert is_entirely_placeholder(value)


@every(
    "value",
    [
        *("", "8", 8, None, True, "$", "a$", "100%", "v${VERSION}", "${REGISTRY}/app:latest"),
        *("${A}/${B}", "<team>-queue", "Replace", "replace", "none", "nvidia@example.org"),
        *("rate(x{pod=~'$pod'}[$__rate_interval])", "echo $HOME", "^(a|b)$", "5 < 6 > 4"),
        *("device.attributes['x'].profile == '${PROFILE}'", "__main__.py", "all-disabled"),
    ],
)
def test_what_is_certain_in_a_value_stays(value):
    assert not is_entirely_placeholder(value)


OBJECT = {
    "spec": {
        "limits": {"gpu": "${GPUS}", "cpu": 8},
        "taints": [{"key": "a", "effect": "<effect>"}, {"key": "b"}],
        "replicas": "$N",
        "slices": {"${PROFILE}": 7, "1g.10gb": "@N@"},
        "all": "${ALL}",
        "plain": {"deep": [1, "two"]},
    }
}


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        (("replicas",), {"replicas": UNKNOWN}),
        (("all", "below", 3), {"all": UNKNOWN}),
        (("limits", "gpu"), {"limits": {"gpu": UNKNOWN, "cpu": 8}}),
        (
            ("taints", 0, "effect"),
            {"taints": [{"key": "a", "effect": UNKNOWN}, {"key": "b"}]},
        ),
    ],
)
def test_what_is_filled_in_at_a_place_is_unknown(path, changed):
    assert with_unknowns(OBJECT, ("spec", *path)) == {"spec": {**OBJECT["spec"], **changed}}


def test_below_a_place_it_is_text_for_who_asks_for_text_and_nothing_else():
    found = with_unknowns(OBJECT, ("spec", "limits"))
    assert found == OBJECT  # a name that somebody fills in is still the same name
    assert type(found["spec"]["limits"]["gpu"]) is PlaceholderText
    assert (
        type(with_unknowns(OBJECT, ("spec", "taints"))["spec"]["taints"][0]["effect"])
        is PlaceholderText
    )
    assert type(OBJECT["spec"]["limits"]["gpu"]) is str


@every("path", [("slices",), ("slices", "${PROFILE}"), ()])
def test_of_a_key_that_is_filled_in_nobody_knows_what_is_there(path):
    found = with_unknowns(OBJECT, ("spec", *path))["spec"]["slices"]
    assert isinstance(found, PartlyKnown)
    assert found == {"1g.10gb": "@N@"}
    assert found.get("7g.80gb") is UNKNOWN


@every(
    "path",
    [
        ("spec", "plain"),
        ("spec", "plain", "deep", 1),
        ("spec", "plain", "deep", 9),
        ("spec", "plain", "deep", "word"),
        ("spec", "nowhere", "below"),
        ("spec", "limits", "cpu"),
    ],
)
def test_where_nothing_is_filled_in_it_is_the_same_object(path):
    assert with_unknowns(OBJECT, path) is OBJECT


def test_what_was_partly_known_stays_so():
    partly = PartlyKnown({"a": {"b": "${B}", "c": 1}})
    for path in (("a", "b"), ("a",), ()):
        found = with_unknowns(partly, path)
        assert found is not partly
        assert isinstance(found, PartlyKnown)
