"""Folders that are called switched off, values of tests of charts, and what deploys them all the same."""

from dataclasses import replace

from gpuyard_lint.items import ValuesOverlay
from gpuyard_lint.unused.disabled_paths import chart_testing_values, disabled_paths
from kit.cases.reading import reading
from kit.every import every

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: x}}
spec: {{source: {{path: {path}, directory: {{recurse: true}}}}}}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: x}}
spec: {{path: {path}}}
"""


def found_by(way, files):
    found = reading({name: text for name, text in files.items() if name.endswith(".yaml")})
    return way(found, list(files), lambda file: files[file].encode())


@every(
    ("folder", "expected"),
    [
        ("_off", True),
        ("off", True),
        ("_retired-lab", True),
        ("zz-disabled-vllm", True),
        ("_template", True),
        ("disabled-apps", True),
        ("disabled-by-default", False),
        ("lab-decommissioned", True),
        (".unused", True),
        ("_old", True),
        ("off-peak", False),
        ("scale-off", False),
        ("template", False),
        ("deprecated-apis", False),
        ("unused-volumes", False),
        ("old-faithful", False),
        ("archive-service", False),
        ("offline", False),
        ("_offers", False),
    ],
)
def test_a_folder_may_be_called_switched_off(folder, expected):
    files = {f"apps/{folder}/x/pod.yaml": POD, "apps/on/pod.yaml": POD}
    assert found_by(disabled_paths, files) == ({f"apps/{folder}/x/pod.yaml"} if expected else set())


@every(
    ("more", "expected"),
    [
        ({}, True),
        ({"root.yaml": APPLICATION.format(path="apps/on")}, True),
        ({"root.yaml": APPLICATION.format(path="apps")}, False),
        ({"root.yaml": FLUX.format(path="./apps")}, False),
        ({"root.yaml": FLUX.format(path="./apps/_off")}, False),
        ({"apps/kustomization.yaml": "resources: [_off/pod.yaml]\n"}, False),
        ({"up.sh": "kubectl apply -f apps/_off/pod.yaml\n"}, False),
        ({"Makefile": "new:\n\tcp -r apps/_off apps/on\n"}, True),
        ({"README.md": "_off/ is what we had, apps/_off/pod.yaml\n"}, True),
        ({"apps/_off/up.sh": "kubectl apply -f ../_off\n"}, True),
    ],
)
def test_unless_something_deploys_it(more, expected):
    files = {"apps/_off/pod.yaml": POD, "apps/on/pod.yaml": POD, **more}
    assert ("apps/_off/pod.yaml" in found_by(disabled_paths, files)) is expected


CHART = {
    "charts/a/Chart.yaml": "name: a\n",
    "charts/a/values.yaml": "gpu-operator: {driver: {enabled: false}}\n",
    "charts/a/ci/kind-values.yaml": "gpu-operator: {driver: {version: 1.2.3}}\n",
    "ci/kind-values.yaml": "gpu-operator: {driver: {version: 1.2.3}}\n",
    "charts/a/ci/values.yaml": "gpu-operator: {driver: {version: 1.2.3}}\n",
}


def test_values_with_which_chart_testing_installs_a_chart():
    of_tests = {"charts/a/ci/kind-values.yaml"}
    assert found_by(chart_testing_values, CHART) == of_tests
    up = {"up.sh": "helm upgrade a charts/a -f charts/a/ci/kind-values.yaml\n"}
    assert found_by(chart_testing_values, {**CHART, **up}) == set()
    handed = replace(
        reading(CHART), values_overlays=(ValuesOverlay(("charts/a/ci/kind-values.yaml",)),)
    )
    assert chart_testing_values(handed, [], lambda _: b"") == set()
