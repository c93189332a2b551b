"""Common parts of validation pods: source, expectations and termination message."""

from collections.abc import Iterable, Mapping

from gpuyard.plan.records import ValidationPlan
from gpuyard.render.objects import Object
from gpuyard.render.programs import file_key, package_source, program_volume
from gpuyard.render.validation.queue import STRICT

PACKAGE = "gpuyard_validator"


def program_text() -> Mapping[str, str]:
    """The validator, as data of a ConfigMap."""
    return {file_key(path): text for path, text in package_source(PACKAGE).items()}


def validator_volumes(program: str, expects: str) -> list[Object]:
    """The volumes of each such pod, from the ConfigMaps of the program and its expectations."""
    return [
        program_volume(program, package_source(PACKAGE)),
        {"name": "expectations", "configMap": {"name": expects}},
    ]


def container(
    validation: ValidationPlan,
    module: str,
    expects: str,
    words: Iterable[str] = (),
    *,
    variables: Mapping[str, str],
    resources: Object,
    mounts: Iterable[Object] = (),
) -> Object:
    """A container that compares results with expectations, as restricted as pods of teams."""
    return {
        "name": "validator",
        "image": validation.image,
        # -B: no bytecode is written to the source, which is read-only.
        "command": ["python3", "-B", "-m", module],
        "args": [
            "--expect",
            f"/expectations/{expects}",
            "--termination-log",
            "/dev/termination-log",
            *words,
        ],
        "workingDir": "/program",
        "env": [
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            *({"name": name, "value": value} for name, value in variables.items()),
        ],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": resources,
        "securityContext": dict(STRICT),
        "volumeMounts": [
            {"name": "program", "mountPath": f"/program/{PACKAGE}", "readOnly": True},
            {"name": "expectations", "mountPath": "/expectations", "readOnly": True},
            *mounts,
        ],
    }
