"""What a script beside the files says of them: for which chart they are, and what goes over them."""

import os

import pytest

from gpuyard_core.errors import UsageError
from gpuyard_lint.cli.files import FileSelection, read_all
from gpuyard_lint.combined.script_hints import (
    RepositoryFiles,
    apply_script_hints,
    script_hints,
    values_with_overrides,
)
from gpuyard_lint.items import ValuesOverlay
from gpuyard_lint.languages.commands import MOST_BYTES, HelmCommand
from gpuyard_lint.languages.hcl_values import UNKNOWN_PART
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource
from kit.every import every

INSTALL = "helm install gpu nvidia/gpu-operator -f"
OLD_DRIVER = """\
driver: {enabled: true, version: "535.54.03"}
toolkit: {version: v1.17.0-ubi8}
devicePlugin: {enabled: true}
"""
BOTH = ["container-toolkit", "driver"]
POOL = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: gpu}
spec: {template: {spec: {nodeClassRef: {name: gpu}}}}
"""
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: q, namespace: t}
spec: {clusterQueue: c}
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)

    return write


def hits(rule, *paths, wanted=None):
    reading, _ = read_all(paths or ["."], wanted or FileSelection())
    found = [hit for hit in build_report(reading, RULES).hits if hit.rule.id == rule]
    # nothing is ever told at a script, nor is one counted
    assert not any(name.endswith((".sh", ".md", "Makefile")) for name in reading.files)
    return found


def programs(*paths, wanted=None):
    """Of which an old version is told."""
    return sorted(
        hit.diagnostic.problem.split()[0] for hit in hits("GPU-STK-01", *paths, wanted=wanted)
    )


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("", BOTH),
        (f"{INSTALL} values.yaml", BOTH),
        (f"{INSTALL} values.yaml --set driver.enabled=false", ["container-toolkit"]),
        (f"{INSTALL} values.yaml --set driver.enabled=$INSTALL", ["container-toolkit"]),
        (f"{INSTALL} other.yaml --set driver.enabled=false", BOTH),
        # what a command itself sets wrong is not told: it stands in no file of values
        (f"{INSTALL} values.yaml --set dcgm.version=3.1.7-1-ubuntu20.04", BOTH),
        # two commands: what they do not share is unknown
        (f"{INSTALL} values.yaml --set driver.enabled=false\n{INSTALL} values.yaml", ["container-toolkit"]),
        (f"{INSTALL} values.yaml --set a=1\n{INSTALL} values.yaml --set a=2", BOTH),
        (f"{INSTALL} values.yaml\n{INSTALL} values.yaml", BOTH),
        # a name that is not known may set anything
        (f"{INSTALL} values.yaml --set $WHAT", []),
        # a file that goes over it, and one that is not in view
        (f"{INSTALL} values.yaml -f none.yaml", ["container-toolkit"]),
        (f"{INSTALL} none.yaml -f values.yaml", BOTH),
        (f"{INSTALL} values.yaml -f $HOME/none.yaml -f gone.yaml", BOTH),
        # the chart of somebody else, known or not
        ("helm install hami hami-charts/hami -f values.yaml", []),
        ("helm install gpu $CHART -f values.yaml", BOTH),
        ("helm install gpu nvidia/gpu-operator -f values.yaml\nhelm install x a/b -f values.yaml", BOTH),
    ],
)  # fmt: skip
def test_what_a_script_hands_to_helm_excuses(written, script, expected):
    none = "driver: {enabled: false}\ndevicePlugin: {enabled: true}\n"
    written({"gpu/values.yaml": OLD_DRIVER, "gpu/none.yaml": none, "gpu/install.sh": script})
    assert programs() == expected


OFF = "--set driver.enabled=false"


@pytest.mark.parametrize(
    ("name", "script", "found"),
    [
        ("gpu/README.md", f"```sh\n{INSTALL} values.yaml {OFF}\n```\n", False),
        ("gpu/Makefile", f"x:\n\t@{INSTALL} values.yaml {OFF}\n", True),
        ("install.sh", f"{INSTALL} gpu/values.yaml {OFF}\n", True),
        ("scripts/install.sh", f"{INSTALL} ../gpu/values.yaml {OFF}\n", True),
        ("scripts/install.sh", f"{INSTALL} gpu/values.yaml {OFF}\n", True),
        ("a/b/install.sh", f'D="$(cd $(dirname "$0") && pwd)"\n{INSTALL} "$D/gpu/values.yaml" {OFF}\n', True),
        ("scripts/install.sh", f"{INSTALL} values.yaml {OFF}\n", False),
        ("scripts/install.sh", f"{INSTALL} /gpu/values.yaml {OFF}\n", False),
        ("scripts/install.sh", f"{INSTALL} https://h/gpu/values.yaml {OFF}\n", False),
        ("scripts/install.sh", f"{INSTALL} $A/gpu/$B.yaml {OFF}\n", False),
        ("examples/install.sh", f"{INSTALL} ../gpu/values.yaml {OFF}\n", False),
        ("gpu/install.ps1", f"{INSTALL} values.yaml {OFF}\n", False),
        ("gpu/install.sh", f"{INSTALL} values.yaml {OFF}\n" + "#" * MOST_BYTES, False),
    ],
)  # fmt: skip
def test_files_are_found_as_a_shell_finds_them(written, name, script, found):
    written({"gpu/values.yaml": OLD_DRIVER, name: script})
    assert programs() == (BOTH[:1] if found else BOTH)


def test_who_leaves_a_script_out_or_names_one_file_hears_of_the_file_alone(written):
    written({"gpu/values.yaml": OLD_DRIVER, "gpu/install.sh": f"{INSTALL} values.yaml {OFF}\n"})
    assert programs("gpu") == BOTH[:1]
    assert programs(".", wanted=FileSelection(["*.sh"])) == BOTH
    assert programs("gpu/values.yaml") == BOTH
    assert programs("gpu/values.yaml", "gpu/install.sh") == BOTH[:1]
    assert programs("gpu/*") == BOTH[:1]
    with pytest.raises(UsageError):
        read_all(["gpu/gone.sh"])


def test_a_script_that_is_named_and_says_nothing_is_read_as_any_file(written):
    written({"x.sh": "echo: hello\n"})
    reading, _ = read_all(["x.sh"])
    assert [(each.file, each.is_unrecognized) for each in reading.skipped] == [("x.sh", False)]


def test_values_of_a_sample_stay_as_they_are(written):
    written({"examples/values.yaml": OLD_DRIVER, "a.sh": f"{INSTALL} examples/values.yaml {OFF}\n"})
    assert programs() == BOTH


def test_a_script_that_cannot_be_read_says_nothing(written, tmp_path):
    written({"gpu/values.yaml": OLD_DRIVER, "gpu/install.sh": "helm"})
    (tmp_path / "gpu" / "more.sh").symlink_to("gone.sh")
    os.mkfifo(tmp_path / "gpu" / "wait.sh")
    assert programs() == BOTH


CHART = "apiVersion: v2\nname: gpu-operator\nversion: v25.3.0\n"


def test_what_goes_over_a_copy_of_a_chart_goes_over_its_own_values(written):
    copy = {"c/Chart.yaml": CHART, "c/values.yaml": OLD_DRIVER}
    written({**copy, "install.sh": "helm install gpu ./c --set driver.enabled=false\n"})
    assert programs() == BOTH[:1]
    written(
        {
            "install.sh": "helm install gpu c/ -f over.yaml\n",
            "over.yaml": "driver: {enabled: false}\n",
        }
    )
    assert programs() == BOTH[:1]
    written(
        {"c/Chart.yaml": "apiVersion: v2\nversion: v25.3.0\n"}
    )  # nobody knows what it is called
    assert programs() == BOTH


def test_values_of_a_chart_under_its_name_are_handed_over_with_it(written):
    parent = "apiVersion: v2\nname: platform\nversion: 1.0.0\n"
    values = "gpu-operator:\n" + "".join(f"  {line}\n" for line in OLD_DRIVER.splitlines())
    written({"p/Chart.yaml": parent, "p/values.yaml": values})
    assert programs() == BOTH
    written(
        {
            "install.sh": "helm install p ./p -f p/values.yaml --set gpu-operator.driver.enabled=false\n"
        }
    )
    assert programs() == BOTH[:1]
    written({"install.sh": "helm install p ./p --set gpu-operator=null\n"})
    assert programs() == BOTH  # an odd way to say nothing


def test_a_command_says_for_which_chart_values_are_that_tell_it_by_no_key(written):
    written({"v.yaml": 'driver: {version: "535.54.03"}\n'})
    assert programs() == []
    written(
        {"install.sh": "helm install gpu oci://r.example/nvidia/gpu-operator:v25.3.0 -f v.yaml\n"}
    )
    assert programs() == ["driver"]


@every(
    ("chart", "expected"),
    [
        ("nvidia/gpu-operator", "gpu-operator"),
        ("gpu-operator-v25.3.0.tgz", "gpu-operator"),
        ("oci://r/kueue@sha256:ab", "kueue"),
        (f"{UNKNOWN_PART}/kueue", "kueue"),
        (f"a/{UNKNOWN_PART}", None),
        ("..", None),
        ("", None),
    ],
)
def test_a_chart_is_called_by_the_end_of_its_address(chart, expected):
    view = RepositoryFiles({"v.yaml"}, (), lambda _: b"")
    found = script_hints({"x.sh": [HelmCommand(chart, None, ("v.yaml",), ())]}, view)
    assert found.charts == ({} if expected is None else {"v.yaml": expected})


@pytest.mark.parametrize(
    "files",
    [
        {"v.yaml": "a: [\n"},
        {"v.yaml": "a: 1\n---\nb: 2\n"},
        {"v.yaml": QUEUE},
        {"v.yaml": "- 1\n"},
    ],
)
def test_what_is_no_file_of_values_is_read_as_it_would_be(written, files):
    written(files)
    before, _ = read_all(["."])
    written({"install.sh": f"{INSTALL} v.yaml\n"})
    after, _ = read_all(["."])
    kinds = [[item.resource.kind for item in each.items] for each in (before, after)]
    assert kinds[0] == kinds[1]
    assert before.skipped == after.skipped


@every(
    ("values", "expected"),
    [
        ([{"a": 1}, {"a": 1}], {"a": 1}),
        ([{"a": 1}, {"a": 2, "b": 3}], {"a": UNKNOWN, "b": UNKNOWN}),
        ([{"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}], {"a": {"b": 1, "c": UNKNOWN}}),
    ],
)
def test_what_several_commands_do_not_share_is_unknown(values, expected):
    calls = [ValuesOverlay(("v.yaml",), (each,)) for each in values]
    resource = Resource("values:gpu-operator", "gpu-operator", {})
    assert apply_script_hints(calls, {}) == {}
    assert values_with_overrides(resource, (), expected).properties == expected
    assert values_with_overrides(resource, ("x",), expected) is resource
    assert values_with_overrides(resource, (), UNKNOWN) is resource
    assert values_with_overrides(Resource("config:x", "x", {}), (), expected).properties == {}


@pytest.mark.parametrize(
    ("files", "severities"),
    [
        ({}, ["warning", "warning"]),
        ({"install.sh": "helm install k oci://r.example/karpenter/karpenter --version 0.37.0"}, ["info"]),
        ({"Makefile": "x:\n\thelm install k karpenter/karpenter --version v0.37.0\n"}, ["info"]),
        # it accuses nobody: with today's Karpenter this would refuse, were it said by a file
        ({"install.sh": "helm install k karpenter/karpenter --version 1.8.0"}, ["warning", "warning"]),
        ({"a.sh": "helm install k karpenter/karpenter --version 1.8.0", "b.sh": "helm install k a/karpenter --version 0.37.0"}, ["info"]),  # noqa: E501
        ({"install.sh": "helm install k karpenter/karpenter"}, ["warning", "warning"]),
        ({"install.sh": "helm install k karpenter/karpenter --version $V"}, ["warning", "warning"]),
        ({"install.sh": "helm install k karpenter/karpenter --version latest"}, ["warning", "warning"]),
        # what a file pins counts, whatever a script says
        (
            {"k.tf": 'resource "helm_release" "k" {\n  chart = "karpenter"\n  version = "1.8.0"\n}\n'
             "# karpenter\n", "a.sh": "helm install k a/karpenter --version 0.37.0"},
            ["warning", "warning"],
        ),
    ],
)  # fmt: skip
def test_an_older_version_that_a_command_installs_excuses(written, files, severities):
    written({"k8s/pool.yaml": POOL, **files})
    assert [hit.diagnostic.severity.value for hit in hits("GPU-CFG-03")] == severities


def test_the_same_command_twice_is_one():
    view = RepositoryFiles((), (), lambda _: b"")
    versions = ("v1", "v1", UNKNOWN)
    found = script_hints(
        {"x.sh": [HelmCommand("a/kueue", each, (), ()) for each in versions]}, view
    )
    assert [each.properties["version"] for each in found.installs] == ["v1", UNKNOWN]


BY_VARIABLE = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: a, image: "a:1", env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q}
spec: {hard: {requests.nvidia.com/gpu: 8}}
"""


@every(
    ("text", "choice"),
    [
        ("helm install gpu nvidia/gpu-operator", True),
        ("helm install gpu nvidia/gpu-operator --version v25.10.1", True),
        ("helm install gpu nvidia/gpu-operator --version v25.3.4", False),
        ("helm install gpu nvidia/gpu-operator\nhelm install g nvidia/gpu-operator --version v25.3.4", False),
        ("helm install gpu nvidia/gpu-operator --version $V", False),
        ("helm install gpu nvidia/gpu-operator --set cdi.enabled=false", False),
        ("helm install gpu nvidia/gpu-operator -f values.yaml", False),
        ("helm install gpu nvdp/nvidia-device-plugin", False),
    ],
)  # fmt: skip
def test_an_operator_that_a_script_installs_newest_gives_by_cdi_alone(tmp_path, text, choice):
    (tmp_path / "install.sh").write_text(f"{text}\n")
    (tmp_path / "pod.yaml").write_text(BY_VARIABLE)
    (hit,) = hits("GPU-POD-01", str(tmp_path))
    assert (hit.state.value == "advisory") is choice


def test_a_tag_that_a_makefile_sets_is_unknown(written):
    written(
        {
            "Makefile": "x:\n\thelm upgrade --install a charts/a --set image.tag=$(TAG)\n",
            "charts/a/Chart.yaml": "name: a\nversion: 1.0.0\n",
            "charts/a/values.yaml": "image: {repository: a/b, tag: latest}\n",
        }
    )
    reading, _ = read_all(["."])
    (found,) = reading.values_overlays
    assert found.files == ("charts/a/values.yaml",)
    assert [dict(each) for each in found.set_values] == [{"image": {"tag": UNKNOWN}}]
