"""`gpuyard lint --render` on charts and kustomizations of an attacker: what runs, and what it sees."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from gpuyard_lint.cli import programs, rendering
from gpuyard_lint.cli.files import LINK, FileSelection, TimeLimit, read_all
from gpuyard_lint.combined.kustomize_build import BUILD_SKIPPED
from gpuyard_lint.combined.rendered import RENDER_DISABLED
from kit.every import every

POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: a, image: "m:latest", resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
REPLACEMENT = """replacements:
  - source: {kind: Pod, name: p, fieldPath: metadata.name}
    targets: [{select: {kind: Pod}, fieldPaths: [metadata.labels.a]}]
"""
TOP = "resources: [pod.yaml]\n" + REPLACEMENT
CHART = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
TEMPLATE = "# nvidia\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Writes files below the folder that is linted."""
    root = tmp_path / "tree"
    root.mkdir()
    monkeypatch.chdir(root)

    def write(**files):
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return root

    return write


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Programs that write down their words, their files and their network."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    log = tmp_path / "log"
    for name, at in (("helm", 4), ("kustomize", 2), ("git", 1)):
        made = folder / name
        made.write_text(
            f'#!/bin/sh\necho "{name} $*" >>{log}\n(cd "${at}" 2>/dev/null && find . -type f '
            f"-o -type l | sort) >>{log}\ncat /proc/net/dev >{tmp_path}/net 2>/dev/null\n",
            encoding="utf-8",
        )
        made.chmod(made.stat().st_mode | stat.S_IEXEC)
    return log


def reasons(*paths, render=True):
    reading, _ = read_all(paths or (".",), render=render)
    return [(each.file, each.reason) for each in reading.skipped if not each.is_unrecognized]


def not_in_view(key, name):
    return f"{key}: {name!r} is not a file or folder among the linted files"


def below(key, name):
    return f"{key}: {name!r} is not a file below its folder"


URL = "http://127.0.0.1:18999/p"
LINES = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"


@every(
    ("more", "why"),
    [
        # programs
        (
            "helmCharts: [{name: c, releaseName: --post-renderer=/tree/evil.sh}]\n",
            "lint does not build `helmCharts`",
        ),
        (
            "helmCharts: [{name: c, releaseName: --output-dir=/tmp}]\n",
            "lint does not build `helmCharts`",
        ),
        (
            f"helmCharts: [{{name: c, valuesFile: '{URL}'}}]\n",
            "lint does not build `helmCharts`",
        ),
        ("helmGlobals: {configHome: /tree/conf}\n", "lint does not build `helmGlobals`"),
        ("helmGlobals: {chartHome: ../..}\n", "lint does not build `helmGlobals`"),
        (
            "helmChartInflationGenerator: [{chartName: c}]\n",
            "lint does not build `helmChartInflationGenerator`",
        ),
        ("helmCharts: [{}]\n", "lint does not build `helmCharts`"),
        ("generators: [pod.yaml]\n", "lint does not build `generators`"),
        ("generators: [{}]\n", "lint does not build `generators`"),
        ("transformers: [pod.yaml]\n", "lint does not build `transformers`"),
        ("validators: [pod.yaml]\n", "lint does not build `validators`"),
        ("openapi: {path: pod.yaml}\n", "lint does not build `openapi`"),
        ("inventory: {type: ConfigMap}\n", "lint does not build `inventory`"),
        ("HelmCharts: [{name: c}]\n", "lint does not build `HelmCharts`"),
        ("Generators: [pod.yaml]\n", "lint does not build `Generators`"),
        # addresses
        (f"bases: ['{URL}']\n", not_in_view("bases", URL)),
        ("bases: [github.com/a/b]\n", not_in_view("bases", "github.com/a/b")),
        ("bases: [GitHub.com/a/b]\n", not_in_view("bases", "GitHub.com/a/b")),
        ("bases: ['git@github.com:a/b']\n", not_in_view("bases", "git@github.com:a/b")),
        ("bases: ['org-1@github.com:a/b']\n", not_in_view("bases", "org-1@github.com:a/b")),
        ("bases: ['git::ssh://a/b']\n", not_in_view("bases", "git::ssh://a/b")),
        ("bases: ['pod.yaml?ref=1']\n", not_in_view("bases", "pod.yaml?ref=1")),
        (f"components: ['{URL}']\n", not_in_view("components", URL)),
        (f"crds: ['{URL}']\n", not_in_view("crds", URL)),
        (f"configurations: ['{URL}']\n", not_in_view("configurations", URL)),
        (f"patches: [{{path: '{URL}'}}]\n", not_in_view("patches", URL)),
        (f"patchesJson6902: [{{path: '{URL}'}}]\n", not_in_view("patchesJson6902", URL)),
        (f"patchesStrategicMerge: ['{URL}']\n", not_in_view("patchesStrategicMerge", URL)),
        (
            f'patchesStrategicMerge: ["{URL}\\n"]\n',
            not_in_view("patchesStrategicMerge", f"{URL}\n"),
        ),
        (
            f"configMapGenerator: [{{files: ['x={URL}']}}]\n",
            below("configMapGenerator", f"x={URL}"),
        ),
        (f"configMapGenerator: [{{envs: ['{URL}']}}]\n", below("configMapGenerator", URL)),
        (f"secretGenerator: [{{env: '{URL}'}}]\n", below("secretGenerator", URL)),
        (f"patches: [{{Path: '{URL}'}}]\n", "lint does not build `patches`"),
        (f"patches: ['{URL}']\n", "lint does not build `patches`"),
        (
            f"configMapGenerator: [{{Files: ['{URL}']}}]\n",
            "lint does not build `configMapGenerator`",
        ),
        # other files
        ("crds: [/etc/passwd]\n", not_in_view("crds", "/etc/passwd")),
        ("crds: [../outside.yaml]\n", not_in_view("crds", "../outside.yaml")),
        ("patches: [{path: ../outside.yaml}]\n", not_in_view("patches", "../outside.yaml")),
        ("crds: [7]\n", not_in_view("crds", 7)),
        ("patches: [{path: {a: 1}}]\n", not_in_view("patches", {"a": 1})),
        (
            "configMapGenerator: [{files: [/etc/passwd]}]\n",
            below("configMapGenerator", "/etc/passwd"),
        ),
        (
            "configMapGenerator: [{files: [.git/config]}]\n",
            below("configMapGenerator", ".git/config"),
        ),
        (
            "configMapGenerator: [{files: [a=./../x]}]\n",
            below("configMapGenerator", "a=./../x"),
        ),
    ],
)
def test_a_kustomization_with_such_a_field_is_not_built(tree, record, more, why):
    tree(
        **{
            "kustomization.yaml": TOP + more,
            "pod.yaml": POD,
            "github.com/a/b/kustomization.yaml": "",
        }
    )
    reason = f"kustomization not built: kustomization.yaml: {why}"
    assert ("kustomization.yaml", reason) in reasons()
    assert not record.exists()


@every("url", [URL, "../outside.yaml", "/etc/passwd"])
def test_a_replacement_from_elsewhere_is_not_built(tree, record, url):
    top = f"resources: [pod.yaml]\nreplacements: [{{path: '{url}'}}]\n"
    tree(**{"kustomization.yaml": top, "pod.yaml": POD})
    why = f"kustomization not built: kustomization.yaml: {not_in_view('replacements', url)}"
    assert reasons() == [("kustomization.yaml", why)]
    assert not record.exists()


def test_a_component_and_a_base_are_held_to_the_same_fields(tree, record):
    tree(
        **{
            "kustomization.yaml": TOP + "components: [c]\n",
            "pod.yaml": POD,
            "c/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n"
            "helmGlobals: {configHome: /x}\n",
        }
    )
    reason = "kustomization not built: c/kustomization.yaml: lint does not build `helmGlobals`"
    assert reasons() == [("kustomization.yaml", reason)]
    assert not record.exists()


def test_kustomize_gets_what_was_checked_and_nothing_else(tree, record):
    tree(
        **{
            "top/kustomization.yaml": "generators: [x.yaml]\n---\n"
            "resources: [../base]\nreplacements: [{path: r.yaml}]\n"
            "configMapGenerator: [{name: a, files: [k=conf/a.ini], literals: ['u=http://x']}]\n"
            f"patchesStrategicMerge:\n  - |\n    {LINES.replace(chr(10), chr(10) + '    ')}\n",
            "top/r.yaml": "[]\n",
            "top/conf/a.ini": "a\n",
            "top/x.yaml": POD,
            "base/kustomization.yaml": "resources: [pod.yaml]\n",
            "base/pod.yaml": POD,
            "base/other.yaml": POD,
            ".git/config": "token\n",
        }
    )
    assert reasons() == []
    (line, *files) = record.read_text().splitlines()
    assert line.startswith("kustomize build /")
    assert line.endswith("/top")
    assert files == ["./conf/a.ini", "./kustomization.yaml", "./r.yaml"]


def test_a_link_below_a_kustomization_is_not_followed(tree, record):
    root = tree(
        **{
            "kustomization.yaml": TOP + "configMapGenerator: [{name: a, files: [link/secret]}]\n",
            "pod.yaml": POD,
            "../outside/secret": "token\n",
        }
    )
    (root / "link").symlink_to("../outside")
    reason = "kustomization not built: link/secret is a link: replace it with the file"
    assert reasons() == [("kustomization.yaml", reason)]
    assert not record.exists()


def test_a_file_of_a_generator_that_is_not_there_is_said(tree, record):
    tree(**{"kustomization.yaml": TOP + "secretGenerator: [{envs: [a.env]}]\n", "pod.yaml": POD})
    reason = "kustomization not built: a.env: no such file"
    assert reasons() == [("kustomization.yaml", reason)]
    assert not record.exists()


def test_a_kustomization_of_many_bytes_is_not_built(tree, record, monkeypatch):
    monkeypatch.setattr(rendering, "MOST_TO_BUILD", 173)
    tree(**{"kustomization.yaml": TOP, "pod.yaml": POD})
    reason = "kustomization not built: its files exceed 173 bytes: render it first"
    assert reasons() == [("kustomization.yaml", reason)]


# ── charts ──


@pytest.fixture
def chart(tree):
    return tree(
        **{
            "c/Chart.yaml": CHART,
            "c/values.yaml": "a: 1\n",
            "c/templates/a.yaml": TEMPLATE,
            "c/templates/_a.tpl": "",
            "c/charts/d/Chart.yaml": CHART,
            "c/values.schema.json": '{"$ref": "http://127.0.0.1:18999/s"}\n',
            "c/.git/config": "token\n",
            "c/gha-creds-1.json": "{}\n",
            "c/plugins/evil/plugin.yaml": "name: evil\n",
            "secret.yaml": POD,
        }
    )


def test_helm_gets_the_files_of_a_chart_and_nothing_beside_them(chart, record):
    assert reasons() == []
    (line, *files) = record.read_text().splitlines()
    assert line.startswith("helm template --skip-schema-validation release /")
    assert files == [
        "./Chart.yaml",
        "./charts/d/Chart.yaml",
        "./templates/_a.tpl",
        "./templates/a.yaml",
        "./values.yaml",
    ]


@every(
    ("link", "target"),
    [
        ("templates/_git", "../.git/config"),
        ("templates/b.yaml", "/etc/hostname"),
        ("templates/more", "../../.."),
        ("charts/e", "../.."),
        ("crds", ".."),
        ("Chart.lock", "../secret.yaml"),
    ],
)
def test_a_chart_with_a_link_is_not_rendered(chart, record, link, target):
    (chart / "c" / link).symlink_to(target)
    reason = f"chart not rendered: c/{link} is a link: replace it with the file"
    assert ("c/Chart.yaml", reason) in reasons()
    assert not record.exists()
    (chart / "c" / link).unlink()


def test_a_chart_with_a_pipe_is_not_rendered(chart, record):
    os.mkfifo(chart / "c" / "templates" / "pipe")
    why = "c/templates/pipe: a pipe, not a file. Give the path of a file of it."
    assert reasons() == [("c/Chart.yaml", f"chart not rendered: {why}")]
    assert not record.exists()


def test_a_chart_of_many_bytes_is_not_rendered(chart, record, monkeypatch):
    monkeypatch.setattr(rendering, "MOST_TO_RENDER", len(CHART) + 30)
    (_, reason), *_ = reasons()
    assert reason.startswith("chart not rendered: ")
    assert not record.exists()


def test_a_name_in_a_command_beside_a_chart_is_no_flag_of_helm(chart, record, tree):
    tree(
        **{
            "up.sh": "helm upgrade --post-renderer=./evil.sh -f /etc/passwd a ./c --set a=--output-dir=/x\n"
        }
    )
    assert reasons() == []
    words = record.read_text().split()
    assert words[:4] == ["helm", "template", "--skip-schema-validation", "release"]
    assert words[5] == "--values"
    assert words[6].endswith("/values.json")


# ── by default nothing runs ──


def test_by_default_no_program_runs_and_what_that_leaves_out_is_said_once(
    gpuyard, chart, record, tree
):
    tree(**{"k/kustomization.yaml": TOP, "k/pod.yaml": POD, "c/templates/b.yaml": TEMPLATE})
    ended = gpuyard("lint", ".")
    said = " ".join(ended.err.split())
    assert f"c/templates/a.yaml:1 and 1 more: {RENDER_DISABLED}" in said
    assert f"k/kustomization.yaml:1: {BUILD_SKIPPED}" in said
    assert not record.exists()
    gpuyard("lint", ".", "--render")
    assert {
        line.split()[0] for line in record.read_text().splitlines() if "/" in line and " " in line
    } == {
        "helm",
        "kustomize",
    }


@every("name", [".gpuyard.yaml", "gpuyard.yaml", "rules.yaml", ".pre-commit-config.yaml"])
def test_no_file_of_the_tree_switches_rendering_on(gpuyard, chart, record, tree, name):
    tree(**{name: "render: true\nlint: {render: true}\n"})
    gpuyard("lint", ".")
    assert not record.exists()


def test_settings_have_no_such_switch(gpuyard, chart, record, tree):
    tree(**{"rules.yaml": "render: true\n"})
    ended = gpuyard("lint", ".", "--config", "rules.yaml")
    assert ended.code == 2
    assert "rules.yaml:1: render" in " ".join(ended.err.split())
    assert not record.exists()


def test_a_program_that_lies_in_the_tree_is_not_run(chart, record, monkeypatch):
    evil = chart / "helm"
    evil.write_text(f"#!/bin/sh\ntouch {chart}/ran\n", encoding="utf-8")
    evil.chmod(0o755)
    for path in (".", "", f".{os.pathsep}/usr/bin"):
        monkeypatch.setenv("PATH", path)
        reasons()
    assert not (chart / "ran").exists()


# ── what surrounds a program ──


def has_network_namespaces():
    code = "import ctypes,sys; u=ctypes.CDLL(None).unshare; sys.exit(bool(u(0x40000000) and u(0x50000000)))"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.skipif(not has_network_namespaces(), reason="this kernel grants no network namespace")
def test_a_program_has_no_network(chart, record, tmp_path):
    reasons()
    names = [line.split(":")[0].strip() for line in (tmp_path / "net").read_text().splitlines()[2:]]
    assert names == ["lo"]


def test_a_system_without_namespaces_runs_programs_all_the_same(chart, record, monkeypatch):
    monkeypatch.setattr(programs, "_LIBC", object())
    assert reasons() == []
    assert record.exists()


def test_what_a_program_started_ends_with_it(chart, record, tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "SECONDS", 1)
    helm = tmp_path / "bin" / "helm"
    helm.write_text(f"#!/bin/sh\n(sleep 2; touch {tmp_path}/late) &\nsleep 60\n", encoding="utf-8")
    ((_, reason),) = reasons()
    assert reason == "chart not rendered: helm took longer than 1 s"
    threading.Event().wait(2.5)
    assert not (tmp_path / "late").exists()


def test_what_a_program_says_of_its_failure_is_bounded(chart, record, tmp_path):
    helm = tmp_path / "bin" / "helm"
    helm.write_text("#!/bin/sh\nyes error: long | head -c 50000000 >&2\nexit 1\n", encoding="utf-8")
    ((_, reason),) = reasons()
    assert reason == "chart not rendered: long"


# ── links and files beside what is linted ──


@every("paths", [(".",), ("*.yaml",), ("**/*.yaml",), ("a", "b")])
def test_a_link_that_leads_out_of_what_was_named_is_not_read(tree, paths):
    root = tree(**{"../outside/x.yaml": POD, "a/pod.yaml": POD, "b/pod.yaml": POD})
    for folder in (".", "a"):
        (root / folder / "x.yaml").unlink(missing_ok=True)
        (root / folder / "x.yaml").symlink_to(root.parent / "outside" / "x.yaml")
        (root / folder / "away").unlink(missing_ok=True)
        (root / folder / "away").symlink_to(root.parent / "outside")
    reading, _ = read_all(paths)
    assert {item.place.file for item in reading.items} <= {"a/pod.yaml", "b/pod.yaml"}
    assert {each.reason for each in reading.skipped} == {LINK}
    assert {each.file for each in reading.skipped} <= {
        "x.yaml",
        "a/x.yaml",
        "away/x.yaml",
        "a/away/x.yaml",
    }


def test_a_link_that_stays_below_what_was_named_is_read(tree):
    root = tree(**{"a/pod.yaml": POD, "b/other.yaml": POD.replace("{name: p}", "{name: q}")})
    (root / "a" / "link.yaml").symlink_to("../b/other.yaml")
    assert "a/link.yaml" in {item.place.file for item in read_all(["."])[0].items}
    assert reasons("a", render=False) == [("a/link.yaml", LINK)]
    assert reasons("a", "b", render=False) == []
    assert reasons("a/link.yaml", render=False) == []


MAIN = """resource "helm_release" "gpu" {
  chart  = "gpu-operator"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  values = [file("FILE")]
}
"""


@every(
    "file",
    ["away/values.txt", "../outside/values.txt", ".git/values.txt", "x/../../outside/values.txt"],
)
def test_a_file_outside_that_another_names_is_not_read(tree, file):
    values = "driver: {enabled: 7}\n"
    root = tree(
        **{
            "t/main.tf": MAIN.replace("FILE", f"${{path.module}}/../{file}"),
            "../outside/values.txt": values,
            ".git/values.txt": values,
            "in/values.txt": values,
        }
    )
    (root / "away").unlink(missing_ok=True)
    (root / "away").symlink_to("../outside")
    assert not [item for item in read_all(["."])[0].items if item.place.file.endswith(".txt")]


# ── one clock ──


def test_what_no_time_is_left_for_is_said_and_fails(gpuyard, tree, monkeypatch):
    tree(**{f"{number}.yaml": POD for number in range(5)})
    clock = iter(range(100))
    monkeypatch.setattr("gpuyard_lint.cli.files.monotonic", lambda: next(clock))
    ended = gpuyard("lint", ".", "--time-limit", "3")
    said = "the time limit of 3 s leaves out 2 files, from 3.yaml on: raise --time-limit"
    assert f".:1: {said}" in " ".join(ended.err.split())
    assert ended.code == 2
    monkeypatch.undo()
    assert gpuyard("lint", ".", "--time-limit", "0").code == 2  # no such limit


def test_a_run_of_which_time_is_left_for_nothing_ends(tree):
    tree(**{"a.yaml": POD, "m/main.tf": MAIN, "up.sh": "helm upgrade a ./c\n"})
    reading, _ = read_all(["."], FileSelection(seconds=-1))
    assert reading.items == ()
    (unread,) = reading.skipped
    assert unread.file == "."
    assert unread.reason.startswith("the time limit of -1 s leaves out 3 files, from ")


def test_rules_that_take_longer_than_the_time_limit_end_with_the_findings_so_far(
    gpuyard, tree, monkeypatch
):
    quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\n"
    tree(**{"quota.yaml": f"{quota}spec: {{hard: {{limits.nvidia.com/gpu: 8}}}}\n"})
    whole = gpuyard("lint", ".")
    assert whole.code == 3
    said = "the rules did not finish within the time limit of 8 s, so findings are missing: raise --time-limit"
    monkeypatch.setattr(TimeLimit, "has_time_for", lambda *_: True)
    found = []
    for checks in range(30):
        clock = iter(range(checks))
        monkeypatch.setattr(TimeLimit, "is_over", lambda _, clock=clock: next(clock, None) is None)
        ended = gpuyard("lint", ".", "--time-limit", "8")
        if ended.code == 3:
            assert ended.out == whole.out
            break
        assert ended.code == 2
        assert f".:1: {said}" in " ".join(ended.err.split())
        found.append("GPU-TEN-02" in ended.out)
    assert ended.code == 3
    assert found == sorted(found)
    assert set(found) == {False, True}


# ── what lint wrote itself ──


def test_a_baseline_beside_the_files_is_known_as_such(gpuyard, tree):
    tree(**{"pod.yaml": POD})
    gpuyard("lint", ".", "--write-baseline", "known.json")
    ended = gpuyard("lint", ".", "--baseline", "known.json")
    assert ended.code == 0
    assert "known.json" not in ended.err + ended.out
