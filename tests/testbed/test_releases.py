"""Releases instead of builds, from a mirror on this machine: downloads, rejected files, and fallback builds."""

import json
import re
import signal
import subprocess
import time
import tomllib
from http.server import BaseHTTPRequestHandler

import pytest
from testbed.fetching import answering
from testbed.releases import RELEASES, Platform, Sources, offered, sources_of

from kit.waiting import SHORTER
from testbed import releases

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

TAKEN = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kueue",
    "kwok",
    "kwokctl",
]


def test_what_has_a_release_is_taken_and_nothing_is_built(place, mirror):
    mirror.publish()
    result = place.run(**mirror.environment())
    assert result.returncode == 0, result.stderr
    assert place.tools() == dict.fromkeys(["pulumi", *TAKEN], "release")
    assert place.builds() == []
    said = re.sub(r"in \d+s", "in 0s", result.stderr)
    assert "pulumi: 0 MiB from github.com in 0s" in said
    assert "kueue: 0 MiB from registry.k8s.io in 0s" in said
    assert (place.into / "share" / "kueue" / "crds").is_dir()
    assert not (place.into / "partial").exists()


def test_what_has_none_is_built_meanwhile(place, mirror):
    mirror.publish(but="kueue")
    result = place.run(**mirror.environment())
    assert result.returncode == 0, result.stderr
    assert place.tools() == {**dict.fromkeys(["pulumi", *TAKEN], "release"), "kueue": "built"}
    assert place.packages() == [["kueue"]]
    assert "cluster (kueue): usually " in result.stderr


def test_what_was_taken_runs_and_is_the_file_of_this_platform(place, mirror):
    mirror.publish()
    place.run(**mirror.environment())
    for tool in ("pulumi", *TAKEN):
        said = subprocess.run([place.into / "bin" / tool], capture_output=True, check=True).stdout
        assert said.decode() == f"{tool} for linux/amd64\n"


def test_only_the_programs_are_taken_out_of_an_archive(place, mirror):
    mirror.publish()
    place.run("engine", **mirror.environment())
    assert [path.name for path in (place.into / "bin").iterdir()] == ["pulumi"]
    assert not list(place.folder.rglob("outside"))


def test_without_anything_to_build_no_go_is_needed(place, mirror):
    mirror.publish()
    (place.path / "go").unlink()
    result = place.run("engine", "helm", "prometheus", **mirror.environment())
    assert result.returncode == 0, result.stderr
    assert place.tools() == dict.fromkeys(["pulumi", "helm", "prometheus", "promtool"], "release")
    asked = [path for path in mirror.asked if "prometheus-3.9.0" in path]
    assert len(asked) == 1, "one file with two programs is fetched once"


def test_the_second_run_makes_no_request(place, mirror):
    mirror.publish()
    place.run(**mirror.environment())
    mirror.asked.clear()
    result = place.run(**mirror.environment())
    assert "All tools are installed: engine, cluster" in result.stderr
    assert (mirror.asked, place.builds()) == ([], [])


def test_what_was_built_stays_when_releases_come_within_reach(place, mirror):
    place.run()
    mirror.publish()
    assert place.run(**mirror.environment()).returncode == 0
    assert mirror.asked == []


def test_source_forces_building_also_of_what_was_taken(place, mirror):
    mirror.publish()
    place.run(**mirror.environment())
    mirror.asked.clear()
    assert place.run(**mirror.environment(GPUYARD_TOOLS_FROM="source")).returncode == 0
    assert (mirror.asked, set(place.tools().values())) == ([], {"built"})


def test_releases_takes_also_what_was_built(place, mirror):
    place.run()
    mirror.publish(but="kueue")
    assert place.run(**mirror.environment(GPUYARD_TOOLS_FROM="releases")).returncode == 0
    assert place.tools()["etcd"] == "release"
    assert place.tools()["kueue"] == "built", "it has no release"


def test_a_changed_checksum_downloads_the_file_again(place, mirror):
    mirror.publish("pulumi")
    place.run("engine", **mirror.environment())
    path = next(path for path in mirror.files if "pulumi" in path)
    mirror.files.clear()
    mirror.table.write_text("")
    mirror.publish("pulumi", on="linux/arm64")  # another file: here only its checksum matters
    mirror.table.write_text(mirror.table.read_text().replace("arm64", "x64"))
    mirror.files[path] = mirror.files.popitem()[1]
    place.run("engine", **mirror.environment())
    assert "for linux/arm64" in (place.into / "bin" / "pulumi").read_text()


# ── rejected ──


def test_a_wrong_sum_ends_the_run_and_nothing_of_the_file_is_kept(place, mirror):
    mirror.publish()
    path = next(path for path in mirror.files if path.endswith("/kube-scheduler"))
    expected = re.findall(r'kube-scheduler"\]\nsha256 = "(\w+)"', mirror.table.read_text())[0]
    mirror.files[path] += b"rm -rf /\n"
    result = place.run(**mirror.environment())
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"testbed: {mirror.address}{path} has the SHA-256 ")
    assert f"checksums.toml has {expected}. The file was discarded." in last
    assert "GPUYARD_TOOLS_FROM=source builds instead" in last
    assert "Traceback" not in result.stderr
    assert "kube-scheduler" not in place.tools(), "and it is not built in its stead"
    assert not (place.into / "bin" / "kube-scheduler").exists()
    assert not (place.into / "partial").exists()
    again = place.run(**mirror.environment())
    assert again.returncode == 1, "nor at the next try"
    assert place.run(**mirror.environment(GPUYARD_TOOLS_FROM="source")).returncode == 0


@pytest.mark.parametrize("part", ["/manifests/sha256:", "/blobs/sha256:"])
def test_a_part_of_an_image_with_a_wrong_sum_ends_the_run_too(place, mirror, part: str):
    mirror.publish("kueue")
    for path in mirror.files:
        mirror.files[path] += b" " if part in path else b""
    result = place.run("cluster", **mirror.environment())
    assert result.returncode == 1
    assert f"{part}" in result.stderr.splitlines()[-1]
    assert "The file was discarded" in result.stderr
    assert "kueue" not in place.tools()


def test_an_image_without_this_platform_is_built(place, mirror):
    mirror.publish("kueue")
    result = place.run("cluster", **mirror.environment(PLATFORM="linux/arm64"))
    assert result.returncode == 0, result.stderr
    assert (
        "kueue: its release could not be downloaded (there is no image for this platform); building it"
        in result.stderr
    )


def test_a_wrong_sum_does_not_wait_for_a_build_to_end(place, mirror):
    mirror.publish(but="kueue")
    path = next(path for path in mirror.files if path.endswith("/kwok-linux-amd64"))
    mirror.files[path] += b"x"
    began = time.monotonic()
    result = place.run(**mirror.environment(FAKE_GO="stuck", SLOW="90"))
    assert result.returncode == 1
    assert time.monotonic() - began < 60
    assert "kwok-linux-amd64 has the SHA-256" in result.stderr


# ── fallback builds ──


def test_an_unreachable_host_is_tried_once_and_all_is_built(place, mirror):
    mirror.publish()
    mirror.server.server_close()
    began = time.monotonic()
    result = place.run(**mirror.environment(GPUYARD_TOOLS_MIRROR="http://127.0.0.1:9"))
    assert result.returncode == 0, result.stderr
    assert time.monotonic() - began < 60
    assert result.stderr.splitlines()[0] == (
        "Releases cannot be downloaded here (127.0.0.1:9: connection refused);"
        " building from source instead."
    )
    assert result.stderr.count("Releases cannot") == 1
    assert place.builds() == ["engine", "cluster"]
    assert len(place.packages()[1]) == 7


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("page", "the answer is a web page"),
        ("forbidden", "HTTP status 403"),
        ("silent", "no answer in 5 s"),
    ],
)
def test_a_host_that_gives_no_file_is_asked_once(place, mirror, answer: str, why: str):
    def answers(request: BaseHTTPRequestHandler, _body: bytes) -> None:
        if answer == "silent":
            time.sleep(8)
            return
        request.send_response(200 if answer == "page" else 403)
        request.send_header("Content-Type", "text/html")
        request.end_headers()
        request.wfile.write(b"<p>Please log in")

    mirror.publish()
    mirror.answers = dict.fromkeys((path.rpartition("/")[2] for path in mirror.files), answers)
    result = place.run("engine", "helm", **mirror.environment())
    assert f"({mirror.address.removeprefix('http://')}: {why}); building" in result.stderr
    assert len(mirror.asked) == 1
    assert place.builds() == ["engine", "helm"]


def test_of_two_hosts_the_one_that_answers_is_used(mirror):
    mirror.publish("pulumi", "kube-scheduler")
    downloads = [
        releases.Download(f"{mirror.address}{path}", "0", ()) for path in sorted(mirror.files)
    ]
    elsewhere = releases.Download("http://127.0.0.1:9/etcd", "0", ())
    answered, silent = answering([elsewhere, *downloads, elsewhere], "")
    assert answered == downloads
    assert silent == {"connection refused": ["127.0.0.1:9"]}
    assert len(mirror.asked) == 1, "one question for all its files"


def test_a_download_that_breaks_off_is_built_and_leaves_nothing(place, mirror):
    def half(request: BaseHTTPRequestHandler, body: bytes) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: len(body) // 2])

    mirror.publish()
    mirror.answers["kube-apiserver"] = half
    result = place.run(**mirror.environment())
    assert result.returncode == 0, result.stderr
    assert re.search(
        r"kube-apiserver: its release could not be downloaded \(the download ended after \d+ of \d+ bytes\);"
        r" building it",
        result.stderr,
    )
    assert place.packages() == [["kube-apiserver"]]
    assert place.tools()["kube-apiserver"] == "built"
    assert not (place.into / "partial").exists()


def test_an_archive_without_the_program_is_built(place, mirror):
    mirror.publish("pulumi")
    path, body = mirror.files.popitem()
    mirror.table.write_text("")
    mirror.publish("helm")
    helm = next(iter(mirror.files.values()))
    mirror.files = {path: helm}
    url = f"https:/{path}"
    mirror.table.write_text(f'["{url}"]\nsha256 = "{releases.sha256(helm).hexdigest()}"\n')
    assert body != helm
    result = place.run("engine", **mirror.environment())
    assert result.returncode == 0, result.stderr
    assert "has no program pulumi/pulumi); building it" in result.stderr
    assert "usually 0s" not in result.stderr
    assert place.tools() == {"pulumi": "built"}


def test_a_file_that_cannot_be_read_is_built_whatever_the_reason(place, mirror):
    mirror.publish("etcd", "pulumi")
    broken = b"\x1f\x8b\x08" + b"0" * 500  # looks like gzip
    path = next(path for path in mirror.files if "pulumi" in path)
    before = releases.sha256(mirror.files[path]).hexdigest()
    mirror.files[path] = broken
    digest = releases.sha256(broken).hexdigest()
    mirror.table.write_text(mirror.table.read_text().replace(before, digest))
    result = place.run("engine", **mirror.environment())
    assert result.returncode == 0, result.stderr
    assert place.tools() == {"pulumi": "built"}


def test_releases_only_does_not_build_what_has_one(place, mirror):
    mirror.publish()
    mirror.files = {path: body for path, body in mirror.files.items() if "apiserver" not in path}
    result = place.run(**mirror.environment(GPUYARD_TOOLS_FROM="releases"))
    assert result.returncode == 4
    assert "The release of kube-apiserver could not be downloaded: HTTP status 404" in result.stderr
    gone = mirror.environment(
        GPUYARD_TOOLS_FROM="releases", GPUYARD_TOOLS_MIRROR="http://127.0.0.1:9"
    )
    result = place.run("helm", **gone)
    assert result.returncode == 4
    assert "GPUYARD_TOOLS_FROM=releases forbids building instead" in result.stderr
    assert place.builds() == []


def test_an_interrupted_download_leaves_nothing_half_written_and_goes_on(place, mirror):
    def slowly(request: BaseHTTPRequestHandler, body: bytes) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[:10])
        request.wfile.flush()
        (place.folder / "building").touch()
        time.sleep(3)

    mirror.publish()
    mirror.answers["pulumi-v3.259.0-linux-x64.tar.gz"] = slowly
    with subprocess.Popen(
        place.command_with_table("engine"),
        env=place.environment(**mirror.environment()),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + SHORTER
        while not (place.folder / "building").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=SHORTER)[1]
    assert process.returncode == 130
    assert "interrupted; run the same command again to continue" in said
    assert list((place.into / "bin").iterdir()) == []
    assert not (place.into / "partial").exists()
    mirror.answers.clear()
    assert place.run("engine", **mirror.environment()).returncode == 0
    assert place.tools() == {"pulumi": "release"}


# ── choice of sources ──


@pytest.mark.parametrize(
    ("on", "file"),
    [
        ("linux/amd64", "pulumi-v3.259.0-linux-x64.tar.gz"),
        ("linux/arm64", "pulumi-v3.259.0-linux-arm64.tar.gz"),
        ("darwin/amd64", "pulumi-v3.259.0-darwin-x64.tar.gz"),
        ("darwin/arm64", "pulumi-v3.259.0-darwin-arm64.tar.gz"),
    ],
)
def test_each_platform_takes_its_own_file(place, mirror, on: str, file: str):
    for other in ("linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"):
        mirror.publish("pulumi", on=other)
    place.run("engine", **mirror.environment(PLATFORM=on))
    assert mirror.files_asked() == {file}
    assert f"for {on}" in (place.into / "bin" / "pulumi").read_text()


def test_a_platform_without_rows_builds_and_makes_no_request(place, mirror):
    mirror.publish()
    result = place.run(**mirror.environment(PLATFORM="linux/riscv64"))
    assert result.returncode == 0
    assert mirror.asked == []
    assert set(place.tools().values()) == {"built"}


@pytest.mark.parametrize(
    ("system", "machine", "known"),
    [
        ("Linux", "x86_64", Platform("linux", "amd64")),
        ("Linux", "aarch64", Platform("linux", "arm64")),
        ("Darwin", "arm64", Platform("darwin", "arm64")),
        ("Linux", "riscv64", Platform("linux", "riscv64")),
    ],
)
def test_a_machine_is_named_in_the_words_of_go(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, known: Platform
):
    monkeypatch.setattr(releases.platform, "system", lambda: system)
    monkeypatch.setattr(releases.platform, "machine", lambda: machine)
    assert releases.this_platform() == known


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("FROM", "sauce", "GPUYARD_TOOLS_FROM=sauce; allowed: auto, releases, source"),
        ("MIRROR", "/srv/mirror", "GPUYARD_TOOLS_MIRROR=/srv/mirror is not an address"),
        ("MIRROR", "file:///srv", "GPUYARD_TOOLS_MIRROR=file:///srv is not an address"),
    ],
)
def test_a_wish_that_is_none_is_wrong_usage(place, name: str, value: str, says: str):
    result = place.run(**{f"GPUYARD_TOOLS_{name}": value})
    assert result.returncode == 2
    assert says in result.stderr


def test_a_password_of_a_mirror_is_not_shown(place, mirror):
    mirror.publish("pulumi")
    secret = {"GPUYARD_TOOLS_MIRROR": "http://me:secret@127.0.0.1:9"}
    assert "secret" not in place.run("engine", **mirror.environment(**secret)).stderr


def test_nothing_said_means_releases_where_they_can_be_had():
    assert sources_of({}) == Sources("auto", "")
    assert sources_of({"GPUYARD_TOOLS_FROM": "", "GPUYARD_TOOLS_MIRROR": ""}) == Sources()


# ── the table ──


def table() -> dict[str, dict[str, object]]:
    return tomllib.loads(releases.TABLE.read_text())


def test_every_row_is_a_file_of_a_version_that_go_mod_pins():
    addresses = {release.address(where) for release in RELEASES for where in release.on}
    assert sorted(set(table()) - addresses) == [], (
        "a version moved and its rows did not: `python -m testbed.refresh` where the projects can be"
        " reached; else remove the rows, and the tool is built"
    )


def test_every_row_has_a_whole_sum_a_source_and_a_date():
    for url, row in table().items():
        assert re.fullmatch(r"[0-9a-f]{64}", str(row["sha256"])), url
        assert len(str(row["source"])) > 10, url
        assert str(row["read"])[:2] == "20", url
    sums = [row["sha256"] for row in table().values()]
    assert len(sums) == len(set(sums)), "no sum was pasted twice"


@pytest.mark.parametrize("arch", ["amd64", "arm64"])
def test_on_linux_all_of_make_up_has_a_release(arch: str):
    where = Platform("linux", arch)
    names = {
        name
        for release in RELEASES
        if release.family in ("engine", "cluster") and offered(release, where)
        for name, _ in release.programs
    }
    assert names == {"pulumi", *TAKEN}


def test_the_release_of_prometheus_is_named_after_its_module():
    release = next(r for r in RELEASES if r.family == "prometheus")
    assert release.published_as("0.309.0") == "3.9.0"
    assert release.published_as("0.312.4") == "3.12.4"


def test_the_engine_from_its_release_runs_with_our_plugins_as_the_built_one(place, mirror):
    mirror.publish("pulumi")
    place.run("engine", **mirror.environment())
    said = place.run("--print-env").stdout
    assert "GPUYARD_ENGINE=built\n" in said
    assert "testbed/plugins/bin" in said
    listed = json.loads((place.into / "tools.json").read_text())
    assert listed["pulumi"] == {"path": str(place.into / "bin" / "pulumi"), "source": "release"}
