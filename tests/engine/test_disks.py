"""A disk that fills while `up` runs, and one that cannot be written to: real ones."""

import subprocess

import pytest

from kit.cluster.warm import AT_EVERY_STEP
from kit.levels import require_level

MOUNT = "mount -t tmpfs -o size={size} none"
DISK = f"""\
#!/bin/sh
# The engine, with a disk of its own for the state; what is on it in the end goes to `left`.
exec unshare -rm sh -c '
{MOUNT} {{backend}} && cp -a {{before}}/. {{backend}} && {{then}}
{{engine}} "$@"
code=$?
cp -a {{backend}}/. {{left}}
exit $code' pulumi "$@"
"""


@pytest.fixture
def up_on_a_disk(stack, tmp_path):
    """An `up` whose state lies on a disk of that size; what it said."""
    trial = ["unshare", "-rm", *MOUNT.format(size="1m").split(), str(tmp_path)]
    done = subprocess.run(trial, capture_output=True, text=True, check=False)
    require_level("engine", not done.returncode, f"no mount of our own here: {done.stderr}")

    def run(size, then="true"):
        before, left, script = (tmp_path / name for name in ("before", "left", "pulumi"))
        stack.backend.rename(before)
        for folder in (stack.backend, left):
            folder.mkdir()
        engine = stack.env["GPUYARD_TEST_PULUMI"]
        text = DISK.format(
            size=size, then=then, backend=stack.backend, before=before, left=left, engine=engine
        )
        script.write_text(text, encoding="utf-8")
        script.chmod(0o755)
        stack.env["GPUYARD_TEST_PULUMI"] = str(script)
        said = stack.up("--parallel", "1", fails=True, **AT_EVERY_STEP).output
        stack.env["GPUYARD_TEST_PULUMI"] = engine
        stack.backend.rmdir()
        left.rename(stack.backend)
        return said

    return run


def test_what_a_full_disk_left_is_mended_by_one_command(
    stack, api, kueue, lab, kubectl, up_on_a_disk
):
    """The engine tries a write for half a minute; then it ends, and what it made is there."""
    lab()
    said = up_on_a_disk("120k")
    assert "failed to save snapshot" in said
    assert "no space left on device" in said
    assert api.cluster.list("v1", "Namespace", None)
    copy = stack.backend / ".pulumi" / "stacks" / "trial" / "dev.json.bak"
    copy.write_bytes(copy.read_bytes()[:-1000])  # the worst of it: no copy is whole

    assert "failed to load checkpoint" in stack.up(fails=True).output
    said = stack.gpuyard("recover", "dev")
    assert "of its resources were recovered; the truncated file is kept as dev.json.cut" in said
    stack.up()
    stack.unchanged()
    stack.destroy()


@pytest.mark.always
def test_on_a_disk_that_cannot_be_written_to_nothing_is_begun(stack, api, up_on_a_disk):
    stack.program("config_map('one')")
    said = up_on_a_disk("1m", f"mount -o remount,ro {stack.backend}")
    assert "read-only file system" in said
    assert api.names("ConfigMap") == set()
    stack.up()
    stack.unchanged()
