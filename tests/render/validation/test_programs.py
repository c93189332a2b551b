"""Programs that are carried as text: a pod reads its files once, so other files are another pod's."""

import pytest

from gpuyard.render import programs
from gpuyard.render.kueue.requeue import requeue_objects
from gpuyard.render.validation.gate import gate_objects
from kit.stacks import plan_of, platform, pool, team


def template(objects):
    (found,) = (o for o in objects if o["kind"] == "Deployment")
    return found["spec"]["template"]


def requeue(**pools):
    return template(
        requeue_objects(plan_of(platform([pool(capacity=["spot"], **pools)], [team()])))
    )


def gate(**validation):
    asked = {"image": "registry.example.org/ml/base:1", **validation}
    return template(gate_objects(plan_of(platform([pool()], validation=asked))))


@pytest.mark.parametrize(
    ("made", "other"), [(requeue, {"name": "other"}), (gate, {"max_unavailable_percent": 50})]
)
def test_what_it_is_told_changes_its_pod(made, other):
    assert made() == made()
    assert made()["spec"] == made(**other)["spec"]
    assert made()["metadata"]["annotations"] != made(**other)["metadata"]["annotations"]


@pytest.mark.parametrize(("made", "file"), [(requeue, "requeue/decisions.py"), (gate, "agent.py")])
def test_a_mended_program_changes_its_pod(made, file, monkeypatch):
    before, read = made(), programs.package_source

    def mended(package):
        return {path: f"{text}#" if path == file else text for path, text in read(package).items()}

    monkeypatch.setattr(programs, "package_source", mended)
    assert made()["spec"] == before["spec"]
    assert made()["metadata"]["annotations"] != before["metadata"]["annotations"]
