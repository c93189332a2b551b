"""Which tags are moved to newer builds."""

from gpuyard_core.manifests.placeholders import is_moving_tag
from kit.every import every


@every(
    ("image", "expected"),
    [
        *((f"r.example.org:5000/a/b{tag}", True) for tag in ("", ":latest", ":main", ":nightly")),
        *((f"a/b:{tag}", True) for tag in ("latest-cuda", "latest-aio-gpu-nvidia-cuda-12", "cuda-latest")),
        *((f"a/b:{tag}", True) for tag in ("dev", "main-cuda", "nightly-cuda12.4", "stable-tensorrt")),
        *((f"a/b:{tag}", True) for tag in ("cuda-nightly", "release-cuda", "master_gpu", "edge", "canary")),
        *((f"a/b:{tag}", False) for tag in ("1.2", "v1", "25.08-py3", "main-7f3c2ab", "nightly-2025-01-01")),
        *((f"a/b:{tag}", False) for tag in ("nightly-20250101", "latest-20250101", "dev-1.2.3")),
        *((f"a/b:{tag}", False) for tag in ("stable-diffusion", "mainline", "server-cuda", "main-b4719")),
        *((f"a/b:{tag}", False) for tag in ("sha-7f3c2ab", "release-1.35", "develop-rc2", "latests", "cuda")),
        *((f"ghcr.io/ggml-org/llama.cpp:{tag}", True) for tag in ("server-cuda", "full", "light-cuda")),
        *((f"ghcr.io/ggml-org/llama.cpp:{tag}", False) for tag in ("server-cuda-b4719", "b4719")),
        ("", False),
        ("a/b:", True),
    ],
)  # fmt: skip
def test_a_tag_moves_where_its_project_moves_it(image, expected):
    assert is_moving_tag(image) is expected
