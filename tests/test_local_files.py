"""Files of the user are read as they are, and up to a limit."""

from pathlib import Path

import pytest

from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import read_regular
from kit.every import every


@every("size", [0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 200_000])
def test_a_file_is_read_whole_up_to_the_limit(tmp_path, size):
    file = tmp_path / "a"
    file.write_bytes(b"x" * size)
    assert read_regular(file, size) == b"x" * size
    if size:
        with pytest.raises(UsageError, match=f"{size:,} bytes; at most {size - 1:,} are read"):
            read_regular(file, size - 1)


def test_a_file_of_the_system_that_says_it_has_nothing_is_read():
    file = Path("/proc/self/status")
    if not file.is_file():
        pytest.skip("no /proc here")
    assert file.stat().st_size == 0
    assert read_regular(file, 1024 * 1024).startswith(b"Name:")
