"""The table of checksums is written from those that projects publish, and a pinned one is never overwritten."""

import datetime as dt
import json
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

from testbed import refresh, releases

TODAY = dt.date(2026, 11, 22)
SCHEDULER = "https://dl.k8s.io/v1.36.3/bin/linux/amd64/kube-scheduler"
KWOK = "https://github.com/kubernetes-sigs/kwok/releases/download/v0.8.0/kwok-linux-amd64"
KWOK_LIST = "https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags/v0.8.0"
A, B = "a" * 64, "b" * 64


def assets(**digests: str | None) -> bytes:
    files = [{"name": n.replace("_", "-"), "digest": d} for n, d in digests.items()]
    return json.dumps({"assets": files}).encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "checksums.toml"
    made.write_text("# why [not]\n# and how\n")
    return made


def written(path: Path, answers: dict[str, bytes]) -> dict[str, dict[str, object]]:
    text = refresh.table(answers.get, path, TODAY)
    path.write_text(text)
    return tomllib.loads(text)


def test_sums_come_from_the_file_beside_and_from_github_s_list(path: Path):
    rows = written(
        path,
        {
            f"{SCHEDULER}.sha256": f"{A}\n".encode(),
            KWOK_LIST: assets(kwok_linux_amd64=f"sha256:{B}", kwok_linux_arm64=None),
        },
    )
    assert rows == {
        SCHEDULER: {"sha256": A, "source": f"{SCHEDULER}.sha256", "read": TODAY},
        KWOK: {"sha256": B, "source": KWOK_LIST, "read": TODAY},
    }
    assert path.read_text().startswith("# why [not]\n# and how\n\n")


def test_a_row_that_still_holds_keeps_its_source_and_date(path: Path):
    answers = {f"{SCHEDULER}.sha256": A.encode()}
    path.write_text(f'# why\n["{SCHEDULER}"]\nsha256 = "{A}"\nsource = "s"\nread = 2020-01-01\n')
    assert written(path, answers)[SCHEDULER]["source"] == "s"
    assert written(path, {})[SCHEDULER]["source"] == "s", "also where nothing is published"
    assert written(path, answers) == written(path, answers)


def test_rows_of_versions_that_moved_on_go(path: Path):
    path.write_text(
        '["https://dl.k8s.io/v1.0.0/x"]\nsha256 = "1"\nsource = "s"\nread = 2020-01-01\n'
    )
    assert written(path, {}) == {}


def test_a_release_that_changed_is_not_taken_over(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    before = f'["{SCHEDULER}"]\nsha256 = "{A}"\nsource = "s"\nread = 2020-01-01\n'
    path.write_text(before)
    monkeypatch.setattr(releases, "TABLE", path)
    monkeypatch.setattr(refresh, "_ask", {f"{SCHEDULER}.sha256": B.encode()}.get)
    assert refresh.main() == 1
    assert f"{SCHEDULER} was pinned with {A} (s), but {SCHEDULER}.sha256 has {B}" in (
        capsys.readouterr().err
    )
    assert path.read_text() == before


def test_the_sum_of_an_image_is_that_of_its_index(path: Path):
    kueue = "https://registry.k8s.io/v2/kueue/kueue/manifests/v0.19.2"
    rows = written(path, {kueue: b"{}"})
    assert rows == {kueue: {"sha256": sha256(b"{}").hexdigest(), "source": kueue, "read": TODAY}}


def test_a_page_is_no_sum(path: Path):
    assert written(path, {f"{SCHEDULER}.sha256": b"<html>" + A.encode()}) == {}


def test_a_project_that_cannot_be_asked_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    def nobody(_url: str) -> bytes:
        raise OSError("no route to host")

    monkeypatch.setattr(releases, "TABLE", path)
    monkeypatch.setattr(refresh, "_ask", nobody)
    assert refresh.main() == 4
    assert path.read_text() == "# why [not]\n# and how\n"


def test_the_table_of_this_repository_reads_as_the_command_writes_it(tmp_path: Path):
    copy = tmp_path / "checksums.toml"
    copy.write_text(releases.TABLE.read_text())
    assert refresh.table(lambda _url: None, copy, TODAY) == releases.TABLE.read_text()
