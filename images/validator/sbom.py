"""What is in an image of the validator, as a CycloneDX document: `sbom.py LOCK... PROGRAM`.

Packages are those of the locks, with the hashes by which they are installed; the program's files have theirs.
What the base brings, its own builder says: `docker buildx build --sbom=true` adds it.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_PACKAGE = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[a-z0-9,_-]+\])?==([^ ;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def main(words: list[str]) -> int:
    """Write it to stdout."""
    *locks, program = map(Path, words)
    json.dump(document(locks, program), sys.stdout, indent=1)
    return 0


def document(locks: list[Path], program: Path) -> dict[str, Any]:
    """The whole; the same inputs give the same bytes."""
    components = [each for lock in locks for each in packages(lock.read_text(encoding="utf-8"))]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "gpuyard_validator"}},
        "components": [*components, *files(program)],
    }


def packages(lock: str) -> Iterator[dict[str, Any]]:
    """Each package of a lock: one of the hashes is that of the file which is installed."""
    found = list(_PACKAGE.finditer(lock))
    for number, match in enumerate(found):
        end = found[number + 1].start() if number + 1 < len(found) else len(lock)
        name, version = match.groups()
        yield {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "hashes": [
                {"alg": "SHA-256", "content": digest}
                for digest in _HASH.findall(lock, match.start(), end)
            ],
        }


def files(program: Path) -> Iterator[dict[str, Any]]:
    """Each file of the program."""
    for path in sorted(program.rglob("*")):
        if path.suffix not in {".py", ".csv"}:
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        yield {
            "type": "file",
            "name": path.relative_to(program).as_posix(),
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
