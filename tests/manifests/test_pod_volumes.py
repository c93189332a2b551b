"""Which volumes a pod has: its own, and of what it stands in those that it mounts."""

from gpuyard_core.manifests.pods import Pod
from kit.every import every

LENT = tuple((("spec", "volumes", n), {"name": name}) for n, name in enumerate("ab"))


def step(*mounts, volumes=()):
    container = {"volumeMounts": [{"name": each} for each in mounts]}
    return {"container": container, "volumes": [{"name": each} for each in volumes]}


@every(
    ("spec", "lent", "expected"),
    [
        (step("a", volumes=["c"]), (), [("templates", 0, "volumes", 0)]),
        (step("b"), LENT, [("spec", "volumes", 1)]),
        (step("a", "b"), LENT, [("spec", "volumes", 0), ("spec", "volumes", 1)]),
        (step("a", volumes=["a"]), LENT, [("templates", 0, "volumes", 0)]),
        (step(), LENT, []),
    ],
)
def test_a_step_has_its_volumes_and_those_that_it_mounts(spec, lent, expected):
    pod = Pod(
        ("templates", 0),
        {},
        spec,
        inline=True,
        container_fields=("container",),
        inherited_volumes=lent,
    )
    assert [path for path, _ in pod.volumes()] == expected
