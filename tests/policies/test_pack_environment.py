"""The pack has an environment of its own: what it imports must be in its lock, or no preview would start."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import sizes

LOADED = "import sys, pack; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


def locked() -> set[str]:
    lock = (sizes.ROOT / "policies" / "requirements.lock").read_text(encoding="utf-8")
    return {name.lower().replace("_", "-") for name in re.findall(r"(?m)^([\w.-]+)==", lock)}


def test_everything_that_the_pack_loads_is_in_its_lock():
    ended = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=sizes.ROOT / "policies",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    owners = packages_distributions()
    loaded = set(ended.stdout.split()) - set(sys.stdlib_module_names)
    needed = {owner.lower().replace("_", "-") for name in loaded for owner in owners.get(name, ())}
    assert {"pydantic", "pulumi-policy"} <= needed
    assert "gpuyard" not in loaded
    left_out = needed - locked() - {"gpuyard-core", "gpuyard-lint", "pip", "coverage", "pytest-cov"}
    assert left_out == set()


def test_the_same_package_has_the_same_version_in_both_locks():
    def versions(path: Path) -> dict[str, str]:
        found = re.findall(r"(?m)^([\w.-]+)==(\S+)", path.read_text(encoding="utf-8"))
        return {name: version for name, version in found if name.startswith(("pydantic", "pyyaml"))}

    ours = versions(sizes.ROOT / "requirements.lock")
    packs = versions(sizes.ROOT / "policies" / "requirements.lock")
    assert packs
    assert {name: ours[name] for name in packs} == packs
