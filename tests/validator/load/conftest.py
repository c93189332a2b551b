"""A CUDA driver and a cuBLAS of our own, built where there is a C compiler."""

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = shutil.which("cc")


@pytest.fixture(scope="session")
def cuda(tmp_path_factory):
    """A folder for LD_LIBRARY_PATH: `whole` has both libraries, `driver` has no cuBLAS."""
    if COMPILER is None:
        pytest.skip("no C compiler in PATH")
    root = tmp_path_factory.mktemp("cuda")
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wl,-soname,libcuda.so.1"]
    for name in ("whole", "driver"):
        (root / name).mkdir()
        out = root / name / "libcuda.so.1"
        subprocess.run([COMPILER, *flags, "-o", out, HERE / "fake_cuda.c"], check=True)
    # cuBLAS knows contexts and streams of the driver: here both are one library with two names.
    (root / "whole" / "libcublas.so.12").symlink_to("libcuda.so.1")
    return root
