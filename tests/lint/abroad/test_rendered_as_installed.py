"""A chart is rendered with what the commands in view lay over its values."""

import json
import os
import stat

import pytest

from gpuyard_lint.cli.files import read_all
from gpuyard_lint.combined.script_hints import overlay_values
from gpuyard_lint.items import ValuesOverlay
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN
from kit.every import every

FILES = {
    "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
    "c/values.yaml": "image: m:latest\n",
    "c/templates/pod.yaml": """apiVersion: v1
kind: Pod
metadata: {name: {{ .Release.Name }}}
spec:
  containers:
    - name: a
      image: {{ .Values.image }}
      resources: {limits: {nvidia.com/gpu: 1}}
""",
}
MADE = """# Source: c/templates/pod.yaml
apiVersion: v1
kind: Pod
metadata: {name: release}
spec:
  containers:
    - name: a
      image: IMAGE
      resources: {limits: {nvidia.com/gpu: 1}}
"""
SIGN = "${SET_BY_A_COMMAND}"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """What a helm is given that prints the image of the values over the chart's own, and what is told."""
    program = tmp_path / "bin" / "helm"
    program.parent.mkdir()
    # the first word of a file of one value is the key, the second what it is
    program.write_text(
        f"""#!/bin/sh
image=m:latest
if [ -n "$6" ]; then
  cp "$6" {tmp_path}/given.json
  grep -q refused "$6" && exit 1
  image=$(sed -n 's/.*"image": "\\([^"]*\\)".*/\\1/p' "$6")
fi
sed "s|IMAGE|$image|" {tmp_path}/made.yaml
""",
        encoding="utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    (tmp_path / "made.yaml").write_text(MADE, encoding="utf-8")
    root = tmp_path / "repository"

    def run(files):
        for name, text in (FILES | files).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        monkeypatch.chdir(root)
        reading, _ = read_all(["."], render=True)
        given = tmp_path / "given.json"
        over = json.loads(given.read_text()) if given.exists() else None
        return over, [hit.rule.id for hit in build_report(reading, RULES).hits]

    return run


def test_a_tag_that_a_script_sets_is_no_moving_one(installed):
    script = {"deploy.sh": 'helm upgrade --install a ./c --set image="m:$TAG"\n'}
    assert installed(script) == ({"image": SIGN}, [])


def test_a_makefile_and_a_file_of_values_do_the_same(installed):
    files = {
        "Makefile": "deploy:\n\t@helm upgrade a ./c -f prod.yaml\n",
        "prod.yaml": "image: m:1.2.3\n",
    }
    assert installed(files) == ({"image": "m:1.2.3"}, [])


def test_of_several_ways_only_what_they_share_is_known(installed):
    files = {
        "up.sh": "helm install a ./c\nhelm install b ./c --set image=m:1.2.3,x=1\n",
    }
    assert installed(files) == ({"image": SIGN, "x": SIGN}, [])


def test_without_a_command_the_chart_s_own_values_count(installed):
    assert installed({}) == (None, ["GPU-POD-03"])


def test_a_chart_that_takes_no_sign_is_rendered_with_its_own_values(installed):
    script = {"deploy.sh": "helm upgrade a ./c --set mode=refused\n"}
    assert installed(script) == ({"mode": "refused"}, ["GPU-POD-03"])


def test_a_file_that_is_no_yaml_says_nothing(installed):
    files = {"deploy.sh": "helm upgrade a ./c -f broken.yaml\n", "broken.yaml": "a: [\n"}
    assert installed(files) == (None, ["GPU-POD-03"])


@every(
    ("sets", "expected"),
    [
        ([], {}),
        ([({"a": {"b": UNKNOWN, "c": [1, UNKNOWN]}},)], {"a": {"b": SIGN, "c": [1, SIGN]}}),
        ([({"a": 1},), ({"a": 1},)], {"a": 1}),
        ([({"a": 1},), ({"a": 2},)], {"a": SIGN}),
        ([({"a": {"b": 1}},), ({"a": {"c": 1}},)], {"a": {"b": SIGN, "c": SIGN}}),
        ([(UNKNOWN,)], {}),
    ],
)
def test_what_is_not_known_has_a_sign(sets, expected):
    values = [ValuesOverlay(("c/values.yaml",), each) for each in sets]
    others = [ValuesOverlay((), ({"a": 3},)), ValuesOverlay(("d/values.yaml",), ({"a": 3},))]
    assert overlay_values("c/values.yaml", [*values, *others], lambda _: {}) == expected
