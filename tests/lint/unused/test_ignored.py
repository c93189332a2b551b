"""What Fleet and helmfile leave out, and what takes it all the same."""

from gpuyard_lint.unused.ignored import disabled_release_values, fleet_ignored_files
from kit.cases.reading import reading
from kit.every import every

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
FLEET = {"a/fleet.yaml": "defaultNamespace: ml\n", "a/pod.yaml": POD, "a/bench/b.yaml": POD}


def found_by(way, files):
    found = reading({name: text for name, text in files.items() if name.endswith(".yaml")})
    return way(found, list(files), lambda file: files.get(file, "").encode())


@every(
    ("more", "expected"),
    [
        ({}, set()),
        ({"a/.fleetignore": "# pod.yaml\n\n"}, set()),
        ({"a/.fleetignore": "pod.yaml\n"}, {"a/pod.yaml"}),
        ({"a/.fleetignore": "b.yaml  \n"}, {"a/bench/b.yaml"}),
        ({"a/.fleetignore": "bench/\n"}, {"a/bench/b.yaml"}),
        ({"a/.fleetignore": "bench/*\n"}, {"a/bench/b.yaml"}),
        ({"a/bench/.fleetignore": "b*\n"}, {"a/bench/b.yaml"}),
        ({".fleetignore": "pod.yaml\n"}, {"a/pod.yaml"}),
        ({"a/.fleetignore": "pod.yaml\n", "up.sh": "kubectl apply -f a/pod.yaml\n"}, set()),
        ({"a/.fleetignore": "pod.yaml\n", "c/pod.yaml": POD}, {"a/pod.yaml"}),
    ],
)
def test_a_file_that_fleet_is_told_to_ignore(more, expected):
    assert found_by(fleet_ignored_files, {**FLEET, **more}) == expected


def test_without_fleet_nobody_ignores_anything():
    assert (
        found_by(fleet_ignored_files, {"a/pod.yaml": POD, "a/.fleetignore": "pod.yaml\n"}) == set()
    )


VALUES = "driver: {version: 1.2.3}\ntoolkit: {enabled: true}\n"
RELEASE = (
    "  - {name: g, chart: nvidia/gpu-operator, installed: false, values: [v/gpu.yaml, {a: 1}]}\n"
)
HELMFILE = f"releases:\n{RELEASE}"
ONE = {"v/gpu.yaml"}


@every(
    ("more", "expected"),
    [
        ({}, ONE),
        ({"helmfile.yaml": HELMFILE.replace("false", "true")}, set()),
        ({"helmfile.yaml": HELMFILE.replace("installed: false, ", "")}, set()),
        ({"helmfile.yaml": HELMFILE.replace("false", "'{{ x }}'")}, set()),
        ({"helmfile.yaml": f"{HELMFILE}  - {{{{ x\n"}, set()),
        ({"helmfile.yaml": f"{HELMFILE}  - {{name: h, values: [v/gpu.yaml]}}\n"}, set()),
        ({"up.sh": "helm upgrade g nvidia/gpu-operator -f v/gpu.yaml\n"}, set()),
    ],
)
def test_values_of_a_release_that_is_not_installed(more, expected):
    files = {"helmfile.yaml": HELMFILE, "v/gpu.yaml": VALUES, **more}
    assert found_by(disabled_release_values, files) == expected
