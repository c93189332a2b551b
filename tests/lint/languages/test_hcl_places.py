"""Where the parts of a text inside Terraform's own files stand, and what it costs to know."""

from gpuyard_core.yaml.positions import Positions
from gpuyard_lint.read import read_module


def test_where_the_parts_of_a_text_stand_is_not_asked_for_one_by_one(monkeypatch):
    labels = "".join(f"    k{n}: v\n" for n in range(60))
    manifest = f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: gpu\n  labels:\n{labels}"
    asked = []
    number = Positions.position_index
    monkeypatch.setattr(
        Positions, "position_index", lambda self, path: asked.append(path) or number(self, path)
    )
    source = f'resource "kubectl_manifest" "p" {{\n  yaml_body = <<YAML\n{manifest}YAML\n}}\n'
    (item,) = read_module({"main.tf": source.encode()}).items
    assert item.resource.properties["metadata"]["labels"]["k59"] == "v"
    assert item.place.position(("metadata", "labels", "k59")) == (67, 5)
    assert len(asked) < len(labels.splitlines())
