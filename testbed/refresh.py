"""Rewrite checksums.toml from the checksums that the projects publish: `python -m testbed.refresh`.

Run it on a machine that can reach them, after a version in a go.mod changed. Checksums are read from GitHub's
list of a release's files (their `digest`), of an image from its index, else from the `.sha256` next to the file.
If a project publishes another checksum for a pinned file, the run ends without changing the row.
Exit codes: 0 written, or nothing to write · 1 a release changed · 4 a project could not be reached.
"""

import datetime as dt
import json
import re
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from testbed import releases
from testbed.fetching import ACCEPT
from testbed.releases import RELEASES
from testbed.workspace import write_whole

SECONDS = 30.0

Ask = Callable[[str], bytes | None]
"""The body at an address; None when there is none."""


class ReleaseChanged(Exception):
    """A project publishes another checksum for a file that was pinned before."""


def main() -> int:
    """Write the table; returns the exit code."""
    try:
        text = table(_ask, releases.TABLE, dt.datetime.now(tz=dt.UTC).date())
    except ReleaseChanged as problem:
        print(f"refresh: {problem}", file=sys.stderr)
        return 1
    except OSError as problem:
        print(f"refresh: cannot reach a project: {problem}", file=sys.stderr)
        return 4
    write_whole(releases.TABLE, text)
    print(f"{releases.TABLE}: review the difference before you commit it", file=sys.stderr)
    return 0


def table(ask: Ask, path: Path, today: dt.date) -> str:
    """The new text of the table, with the comment of the old one."""
    old = path.read_text(encoding="utf-8")
    rows: dict[str, dict[str, Any]] = tomllib.loads(old)
    parts = [re.split(r"^\[", old, maxsplit=1, flags=re.MULTILINE)[0].rstrip()]
    for url in dict.fromkeys(release.address(on) for release in RELEASES for on in release.on):
        row = _row(url, published(url, ask), rows.get(url), today)
        parts += [_written(url, row)] if row else []
    return "\n\n".join(parts) + "\n"


def _written(url: str, row: dict[str, Any]) -> str:
    """One table of the file."""
    return (
        f'["{url}"]\nsha256 = "{row["sha256"]}"\nsource = "{row["source"]}"\nread = {row["read"]}'
    )


def _row(
    url: str, results: tuple[str, str] | None, known: dict[str, Any] | None, today: dt.date
) -> dict[str, Any] | None:
    """The row of a file: the known one while it is valid, else a new one, else none."""
    if results is None:
        return known
    digest, source = results
    if known and known["sha256"] != digest:
        raise ReleaseChanged(
            f"{url} was pinned with {known['sha256']} ({known['source']}), but {source} has {digest}"
        )
    return known or {"sha256": digest, "source": source, "read": today}


def published(url: str, ask: Ask) -> tuple[str, str] | None:
    """The checksum that the project publishes for a file and its source; None without one."""
    parts = urlsplit(url)
    if parts.netloc == "registry.k8s.io":
        index = ask(url)
        return (sha256(index).hexdigest(), url) if index else None
    if parts.netloc == "github.com":
        owner, repository, _, _, tag, name = parts.path.strip("/").split("/")
        address = f"https://api.github.com/repos/{owner}/{repository}/releases/tags/{tag}"
        listed = json.loads(ask(address) or b'{"assets": []}')
        message = next((a.get("digest") or "" for a in listed["assets"] if a["name"] == name), "")
    else:
        address = f"{url}.sha256"
        message = (ask(address) or b"").decode("ascii", "replace").strip()
    match = re.match(r"(?:sha256:)?([0-9a-f]{64})\b", message)
    return (match.group(1), address) if match else None


def _ask(url: str) -> bytes | None:
    """Over TLS, from the project itself; an answer other than a file or 404 is an error."""
    try:
        registry = urlsplit(url).netloc == "registry.k8s.io"
        request = urllib.request.Request(url, headers={"Accept": ACCEPT} if registry else {})  # noqa: S310  https
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310  addresses of RELEASES
            return bytes(answer.read())
    except urllib.error.HTTPError as problem:
        if problem.code == 404:  # noqa: PLR2004  not found
            return None
        raise


if __name__ == "__main__":
    sys.exit(main())
