"""Which images set NVIDIA_VISIBLE_DEVICES themselves, as far as their names tell."""

from gpuyard_lint.rules.pod_devices import is_cuda_image
from kit.every import every


@every(
    ("image", "sets"),
    [
        ("ollama/ollama:0.5.7", True),
        ("docker.io/vllm/vllm-openai:v0.11.0", True),
        ("ghcr.io/huggingface/text-generation-inference:3.0", True),
        ("ghcr.io/huggingface/text-generation-inference:3.0-rocm", False),
        ("nvcr.io/nvidia/tritonserver:25.09-py3", True),
        ("rayproject/ray:2.49.0-py311-cu128", True),
        ("localai/localai:master-gpu-nvidia-cuda-12", True),
        ("localai/localai:latest-cpu", False),
        ("r.example.org:5000/team/gpu-app@sha256:0123", True),
        ("r.example.org/gpustack", None),
        ("python:3.12-slim", False),
        ("homeassistant/home-assistant:2026.6.4", False),
        ("r.example.org/team/app:1", None),
        ("", None),
    ],
)
def test_a_name_tells_whether_an_image_takes_gpus(image, sets):
    assert is_cuda_image(image) is sets
