"""Releases of helmfile and of Rancher's Fleet: their files of values, and what they say themselves."""

import pytest

from gpuyard_lint.report import HitState, build_report
from gpuyard_lint.rules import RULES
from kit.cases.reading import read_in
from kit.every import every

BAD = "driver: {version: 550.54.15}\n"
GOOD = "driver: {version: 580.178.04}\n"
OTHER = "dcgmExporter: {serviceMonitor: {enabled: true}}\n"
HELMFILE = "environments: {%s}\n---\nreleases:\n  - {name: gpus, chart: nvidia/gpu-operator, %s}\n"
INLINE = "{driver: {version: 550.54.15}}"
OVER = "targetCustomizations: [{helm: {values: {%s}}}, {name: b}]\n"
FLEET = "helm: {repo: 'https://h', chart: gpu-operator, version: v26.7.0, %s}\n%s"


@pytest.fixture
def said(tmp_path, monkeypatch):
    """Where an old driver is said, and an old operator."""
    monkeypatch.chdir(tmp_path)

    def of(files):
        reading = read_in(tmp_path, files)
        words = ("driver 550.54.15", "GPU Operator v24")
        hits = [
            h for h in build_report(reading, RULES).hits if h.diagnostic.problem.startswith(words)
        ]
        return [f"{h.file}:{h.line}" for h in hits if h.state is HitState.OPEN]

    return of


@every(
    ("environments", "release", "files", "expected"),
    [
        ("", "values: [a.yaml, b.yaml]", {"a": GOOD, "b": BAD}, ["b.yaml:1"]),
        ("", "values: [a.yaml, b.yaml]", {"a": BAD + OTHER, "b": GOOD}, []),
        ("", "values: [a.yaml]", {"a": BAD}, ["a.yaml:1"]),
        ("", f"values: [a.yaml, {{{GOOD.strip()}}}]", {"a": BAD}, []),
        ("", f"values: [{{{GOOD.strip()}}}, a.yaml]", {"a": BAD}, ["a.yaml:1"]),
        ("", "values: [a.yaml], set: [{name: driver.enabled, value: false}]", {"a": BAD}, []),
        ("", "values: [a.yaml], installed: false", {"a": BAD + OTHER}, []),
        (
            "x: {}, y: {}",
            "values: [a.yaml, '{{ .Environment.Name }}.yaml']",
            {"a": BAD + OTHER, "x": GOOD, "y": GOOD},
            [],
        ),
        # what only some environments lay over it is no excuse that is known, and no fault that is
        (
            "x: {}, y: {}",
            "values: [a.yaml, '{{ .Environment.Name }}.yaml']",
            {"a": BAD + OTHER, "x": GOOD},
            [],
        ),
        (
            "x: {}",
            "values: [a.yaml, '{{ .Values.name }}.yaml']",
            {"a": BAD + OTHER, "x": GOOD},
            ["a.yaml:1"],
        ),
    ],
)
def test_a_helmfile_says_for_which_chart_files_are(said, environments, release, files, expected):
    """The last file counts, then what `set` says."""
    more = {f"{name}.yaml": text for name, text in files.items()}
    helmfile = HELMFILE % (environments, release)
    assert said({"helmfile.yaml": helmfile} | more) == expected
    # a template decides on some of its lines
    lines = helmfile.replace("releases:", "{{ if .x }}\nreleases:")
    assert said({"helmfile.yaml.gotmpl": f"{lines}{{{{ end }}}}\n"} | more) == expected


@every(
    ("release", "expected"),
    [
        (f"version: v26.7.0, values: [{INLINE}]", ["helmfile.yaml:4"]),
        ("version: v24.6.2", ["helmfile.yaml:4"]),
        (f"version: v26.7.0, values: [{INLINE}, {{}}]", []),
        (f"version: v26.7.0, values: [{INLINE}], set: [{{name: a, value: b}}]", []),
        (f"version: v26.7.0, values: [{INLINE}], condition: gpus.enabled", []),
        (f"version: v26.7.0, values: [{INLINE}], installed: false", []),
        # which version it is, a lock may say
        (f"version: v26.x, values: [{INLINE}]", []),
        ("values: []", []),
    ],
)
def test_what_a_helmfile_says_itself_is_judged(said, release, expected):
    assert said({"helmfile.yaml": HELMFILE % ("", release)}) == expected


def test_what_is_no_helmfile_names_no_values(said):
    """Other programs have a list of releases."""
    assert said({"list.yaml": HELMFILE % ("", "values: [a.yaml]"), "a.yaml": BAD}) == []
    assert said({"helmfile.yaml": "releases: [{name: a}]\n", "a.yaml": BAD}) == []
    assert said({"helmfile.yaml": "releases: {{ a }\n", "a.yaml": BAD}) == []
    in_a_folder = {"helmfile.d/x.yaml": HELMFILE % ("", "values: [../a.yaml]"), "a.yaml": BAD}
    assert said(in_a_folder) == ["a.yaml:1"]


@every(
    ("helm", "beside", "expected"),
    [
        (f"values: {INLINE}", "", ["fleet.yaml:1"]),
        ("values: {}", "", []),
        (f"values: {INLINE}, valuesFiles: [a.yaml]", "", []),
        (f"values: {INLINE}", OVER % "dcgmExporter: {a: b}", ["fleet.yaml:1"]),
        (f"values: {INLINE}", OVER % "driver: {version: a}", []),
    ],
)  # fmt: skip
def test_a_bundle_of_fleet_says_its_chart(said, helm, beside, expected):
    """What is laid over it for some clusters is unknown for all."""
    assert said({"fleet.yaml": FLEET % (helm, beside)}) == expected


def test_a_bundle_of_fleet_takes_a_chart_from_a_repository_or_a_folder(said):
    old = FLEET.replace("v26.7.0", "v24.6.2") % ("values: {}", "")
    assert said({"fleet.yaml": old}) == ["fleet.yaml:1"]
    assert said({"fleet.yaml": old.replace("repo: 'https://h', ", "")}) == []
    oci = old.replace("repo: 'https://h', chart: ", "chart: oci://h/charts/")
    assert said({"fleet.yaml": oci}) == ["fleet.yaml:1"]
