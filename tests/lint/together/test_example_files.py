"""Files that nobody deploys: by their names, as dumps of a cluster, as templates, and beside a newer copy."""

from gpuyard_lint.combined import example_files
from gpuyard_lint.combined.example_files import is_example_file, undeployed_examples
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


def unused(files):
    found = LintInput()
    for name, text in files.items():
        if name.endswith(".yaml"):
            found += read(text.encode(), name)
    return undeployed_examples(found, list(files), lambda file: files[file].encode())


@every(
    "files, expected",
    [
        ({"a/x.yaml": POD, "a/y.yaml": DUMP}, {"a/y.yaml"}),
        ({"a/x.yaml": POD, "a/y.yaml": LIST}, {"a/y.yaml"}),
        ({"a/x.yaml": POD, "a/y.yaml": f"{POD}---\n{DUMP}"}, set()),
        ({"a/x.yaml": LIST, "a/y.yaml": DUMP}, set()),
        ({"a/x.yaml": POD, "a/y.yaml": DUMP.replace("uid: 1b", "uid: ''")}, set()),
        ({"a/x.yaml": POD.replace("name: p", "name: '${{ values.name }}'")}, {"a/x.yaml"}),
        ({"a/x.yaml": POD.replace("p}", "'{{ cookiecutter.name }}'}")}, {"a/x.yaml"}),
        ({"a/x.yaml": POD.replace("p}", "'{{ .Values.name }}'}")}, set()),
    ],
)
def test_dumps_of_a_cluster_and_templates_that_a_generator_fills_are_samples(files, expected):
    assert unused(files) == expected


NAMES = 'yaml_body = file("${path.module}/in-use/pod.yaml")\n'
TWO = {"infra/in-use/pod.yaml": POD, "infra/manifests/p.yaml": POD}


@every(
    "more, expected",
    [
        ({"infra/main.tf": NAMES}, {"infra/manifests/p.yaml"}),
        (
            {"infra/main.tf": NAMES, "README.md": "manifests/ has p.yaml\n"},
            {"infra/manifests/p.yaml"},
        ),
        ({"infra/main.tf": NAMES, "README.md": "kubectl apply -f infra/manifests/\n"}, set()),
        ({"infra/main.tf": NAMES, "up.sh": "kubectl apply -f p.yaml\n"}, set()),
        ({"infra/main.tf": NAMES, "up.sh": "kubectl apply -f manifests\n"}, set()),
        ({"infra/main.tf": "# nothing\n"}, set()),
        ({"up.sh": "kubectl apply -f in-use/pod.yaml\n"}, set()),
        (
            {
                "infra/main.tf": NAMES,
                "infra/manifests/p.yaml": f"{POD}---\n{POD.replace('p}', 'q}')}",
            },
            set(),
        ),
        ({"infra/main.tf": NAMES, "infra/manifests/p.yaml": POD.replace("p}", "q}")}, set()),
    ],
)
def test_of_two_files_with_one_object_the_one_that_terraform_does_not_name_is_a_sample(
    more, expected
):
    assert unused({**TWO, **more}) == expected


@every(
    "text, expected",
    [
        (f"# DEPRECATED: use y.yaml\n{POD}", True),
        (f"---\n\n# Ollama on one node.\n#  Superseded by y.yaml.\n{POD}", True),
        (f"# Do not apply this any more\n{POD}", True),
        (f"# ** no longer used **\n{POD}", True),
        (f"# unusedPort is what the chart calls it\n{POD}", False),
        (f"# The deprecated field is left out\n{POD}", False),
        (f"{POD}# DEPRECATED\n", False),
        (POD, False),
    ],
)
def test_a_file_that_calls_itself_old_is_a_sample(text, expected):
    assert unused({"a/x.yaml": text}) == ({"a/x.yaml"} if expected else set())


def test_each_file_is_asked_for_once_while_there_is_room_for_what_it_says(monkeypatch):
    files = {
        "a/kustomization.yaml": "resources: [one]\n",
        "a/one/kustomization.yaml": "resources: [x.yaml]\n",
        "a/one/x.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n",
    }
    found = LintInput()
    for name, text in files.items():
        if name.endswith(".yaml"):
            found += read(text.encode(), name)
    asked: list[str] = []

    def head(file):
        asked.append(file)
        return files[file].encode()

    assert undeployed_examples(found, list(files), head) == set()
    assert sorted(asked) == sorted(set(asked))
    assert {"a/kustomization.yaml", "a/one/x.yaml"} <= set(asked)
    monkeypatch.setattr(example_files, "_MOST_HELD", 0)
    asked.clear()
    assert undeployed_examples(found, list(files), head) == set()
    assert asked.count("a/kustomization.yaml") > 1
