"""Memory goes by what a file says, whatever its shape: so many bytes a resource, the start aside."""

import json
import tracemalloc

import pytest

from gpuyard_lint.ignores import parse_ignores
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - name: a
      image: m:latest
      resources: {limits: {nvidia.com/gpu: 1}}
"""
FEW, MANY = 100, 600
MOST = 3_500
"""Bytes a pod with a finding: sixty thousand in one file take 200 MiB."""


def one_by_one(count):
    return "---\n".join([POD] * count)


def as_a_list(count):
    indented = "".join(f"    {line}\n" for line in POD.splitlines())
    return "apiVersion: v1\nkind: List\nitems:\n" + f"  -\n{indented}" * count


def beside_comments(count):
    return "# intentional\n" + as_a_list(count)


def as_json(count):
    container = {
        "name": "a",
        "image": "m:latest",
        "resources": {"limits": {"nvidia.com/gpu": 1}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [container]},
    }
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod] * count}, indent=1)


def peak(text, count):
    data = text(count).encode()
    tracemalloc.start()
    try:
        reading = read(data, "all.yaml")
        made = build_report(reading, RULES, ignores=parse_ignores(data, "all.yaml"))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(reading.items) == count
    assert len(made.open_findings) == count
    return most


@pytest.mark.parametrize("text", [one_by_one, as_a_list, beside_comments, as_json])
def test_a_resource_takes_no_more_than_so_much_memory(text):
    peak(text, 1)  # what is imported and kept once
    assert (peak(text, MANY) - peak(text, FEW)) / (MANY - FEW) < MOST


def test_places_stay_right_in_a_long_list():
    made = build_report(read(as_a_list(200).encode(), "all.yaml"), RULES)
    lines = as_a_list(200).splitlines()
    assert [hit.line for hit in made.open_findings] == [
        number for number, line in enumerate(lines, 1) if "image:" in line
    ]
