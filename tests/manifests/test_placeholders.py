"""Values that somebody fills in later, told from those that are meant."""

from gpuyard.manifests.placeholders import is_no_image, is_placeholder
from kit.every import every


@every(
    "value",
    [
        *("$GPUS", "${GPUS}", "$(GPUS)", "<image>", "my-<team>", "{{ .Values.image }}", "%TOKEN%"),
        *("__IMAGE__", "xxxxxxxx", "replaced-by-kustomize", "REPLACE_ME", "your-bucket"),
        *("change-me", "FILLED BY THE OPERATOR", "placeholder"),
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
