"""Files that are not deployed: by their names, and as exports of a cluster."""

from gpuyard_lint.combined.example_files import exported_objects, is_example_file
from gpuyard_lint.items import LintInput
from gpuyard_lint.read import read
from kit.every import every

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
DUMP = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: 1b, resourceVersion: '12'}\n"
LIST = (
    "apiVersion: v1\nkind: List\nitems:\n"
    "- {apiVersion: v1, kind: Pod, metadata: {name: q, uid: 1c, resourceVersion: '13'}}\n"
)


@every(
    "name, expected",
    [
        ("gpu-old.yaml", True),
        ("gpu_old.yaml", True),
        ("old-gpu.yaml", True),
        ("gpu.old.yaml", True),
        ("gpu (1).yaml", True),
        ("gpu copy.yaml", True),
        ("Copy of gpu.yaml", True),
        ("values.yaml.orig.yaml", True),
        ("gold.yaml", False),
        ("threshold.yaml", False),
        ("copy-model-job.yaml", False),
        ("a/old/gpu.yaml", True),
        ("a/wip/gpu.yaml", True),
        ("tmp/gpu.yaml", True),
        ("templates/skeleton/gpu.yaml", True),
        ("exercises/gpu.yaml", True),
        ("{{cookiecutter.name}}/gpu.yaml", True),
        ("experiments/gpu.yaml", False),
        ("legacy/gpu.yaml", False),
        ("templates/gpu.yaml", False),
    ],
)
def test_a_file_is_a_sample_by_what_it_and_its_folders_are_called(name, expected):
    assert is_example_file(name) is expected


def exported(files):
    found = LintInput()
    for name, text in files.items():
        if name.endswith(".yaml"):
            found += read(text.encode(), name)
    return exported_objects(found)


@every(
    "files, expected",
    [
        ({"a/x.yaml": POD, "a/y.yaml": DUMP}, {"a/y.yaml"}),
        ({"a/x.yaml": POD, "a/y.yaml": LIST}, {"a/y.yaml"}),
        ({"a/x.yaml": POD, "a/y.yaml": f"{POD}---\n{DUMP}"}, set()),
        ({"a/x.yaml": LIST, "a/y.yaml": DUMP}, set()),
        ({"a/x.yaml": POD, "a/y.yaml": DUMP.replace("uid: 1b", "uid: ''")}, set()),
    ],
)
def test_exports_of_a_cluster_are_samples(files, expected):
    assert exported(files) == expected
