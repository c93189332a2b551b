"""An output folder: a command changes only the files that it wrote.

A list of the files with their checksums is next to them, in the format of `sha256sum --check`. It has no
extension, so that it is not taken for a manifest.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import read_regular

LIST = ".gpuyard-files"
_LIST_LIMIT = 1024 * 1024
_DIGEST = 64
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class WrittenFolder:
    """Files written, removed and kept."""

    files: list[str]
    removed: list[str]
    retained: list[str]
    """Files that are no longer written but were edited, so they are kept."""


def write_folder(
    folder: Path, files: Mapping[str, str], *, by: str = "gpuyard render", give: str = "Give --out"
) -> WrittenFolder:
    """Write the files, and remove those of an earlier run that are no longer written.

    `by` and `give` are the command and its folder option in error messages.
    """
    try:
        return _write(folder, files, by, give)
    except OSError as e:
        raise UsageError(
            f"{e.filename or folder}: can't be written: {(e.strerror or str(e)).lower()}"
        ) from None


def _write(folder: Path, files: Mapping[str, str], by: str, give: str) -> WrittenFolder:
    before = _owned(folder)
    _reject_foreign_files(folder, before, files, by, give)
    folder.mkdir(parents=True, exist_ok=True)
    digests: dict[str, str] = {}
    for name in sorted(files):
        data = files[name].encode()
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        digests[name] = hashlib.sha256(data).hexdigest()
    removed, retained = _remove(folder, {n: d for n, d in before.items() if n not in files})
    listed = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    (folder / LIST).write_text(listed, encoding="utf-8")
    return WrittenFolder(list(digests), removed, retained)


def _owned(folder: Path) -> dict[str, str]:
    """Names and checksums of the files of an earlier run."""
    path = folder / LIST
    if path.is_symlink() or not path.exists():
        return {}
    owned: dict[str, str] = {}
    for line in read_regular(path, _LIST_LIMIT).decode(errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        parts = PurePosixPath(name).parts
        if len(digest) == _DIGEST and parts and not name.startswith("/") and ".." not in parts:
            owned[name] = digest
    return owned


def _reject_foreign_files(
    folder: Path, owned: Mapping[str, str], files: Mapping[str, str], by: str, give: str
) -> None:
    """Reject a folder with files of other origin, and files behind a link."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise UsageError(
            f"{folder}: not a folder. {give} a new or empty folder, or one that it wrote before."
        )
    if not (folder / LIST).exists():
        unexpected = sorted(p.name for p in folder.iterdir())
        if unexpected:
            more = ", …" if len(unexpected) > _SHOWN else ""
            raise UsageError(
                f"{folder}: has files that `{by}` did not write: {', '.join(unexpected[:_SHOWN])}{more}."
                f" Nothing was written. {give} a new or empty folder, or one that it wrote before."
            )
    for name in files:
        target = folder / name
        if target.exists() and name not in owned:
            raise UsageError(
                f"{target}: was not written by `{by}`. Nothing was written. Move the file away."
            )
        if _is_link(folder, target):
            raise UsageError(
                f"{target}: is a link out of the folder. Nothing was written. Remove the link."
            )


def _is_link(folder: Path, target: Path) -> bool:
    return any(
        p.is_symlink()
        for p in (target, *target.parents)
        if p != folder and p.is_relative_to(folder)
    )


def _remove(folder: Path, missing: Mapping[str, str]) -> tuple[list[str], list[str]]:
    removed, retained = [], []
    for name, digest in sorted(missing.items()):
        path = folder / name
        if not path.is_file() or _is_link(folder, path):
            continue
        if hashlib.sha256(path.read_bytes()).hexdigest() == digest:
            path.unlink()
            removed.append(name)
        else:
            retained.append(name)
    return removed, retained
