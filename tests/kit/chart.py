"""Kueue's chart, from the module of its manager, rendered by real Helm."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpuyard_simulate.definitions import manifests_in, read_manifests

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from testbed.families import CLUSTER  # noqa: E402 - the path is set just above
from testbed.golang import present_go  # noqa: E402
from testbed.plugins.kubernetes.templates import find_helm  # noqa: E402
from testbed.workspace import Workspace  # noqa: E402

from kit.levels import require_level, upstream  # noqa: E402

MODULE = "sigs.k8s.io/kueue"


@cache
def folder() -> Path:
    """The chart's folder; the module is downloaded if its sources are missing."""
    go = present_go(Workspace(ROOT / ".testbed"))
    require_level(
        "engine", go, "no Go, whose module folder has Kueue's chart; `make tools` gets it"
    )
    assert go is not None
    message = go.answer(["mod", "download", "-json", MODULE], CLUSTER.folder)
    chart = Path(json.loads(message)["Dir"]) / "charts" / "kueue"
    assert (chart / "Chart.yaml").is_file(), chart
    return chart


def helm() -> str:
    """The helm binary."""
    result = find_helm()
    require_level("engine", result, "no helm; `scripts/tools helm` builds it")
    assert result is not None
    return result


def rendered(values: Mapping[str, Any], namespace: str, release: str = "kueue") -> list[Any]:
    """The objects that Helm renders from the chart, in installation order."""
    return manifests_in(_templates(yaml.safe_dump(dict(values)), namespace, release))


@cache
def _templates(values: str, namespace: str, release: str) -> str:
    command = [helm(), "template", release, str(folder()), "--namespace", namespace]
    done = subprocess.run(
        [*command, "--kube-version", "1.36.3", "--include-crds", "--values", "-"],
        input=values,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def definitions() -> tuple[Any, ...]:
    """Kueue's kinds, without the webhook that converts old versions: it has no server here."""
    result = read_manifests(upstream("crds", "kueue"))
    for crd in result:
        crd["spec"].pop("conversion", None)
    return tuple(result)


def without_servers(target: Path, version: str = "") -> Path:
    """A copy for fake nodes, whose pods do not really run: webhooks have no server there."""
    shutil.copytree(folder(), target)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # a module's files are read-only
    for part in (
        "webhook/manifests.yaml",
        "visibility/apiservice_v1beta1.yaml",
        "visibility/apiservice_v1beta2.yaml",
    ):
        (target / "templates" / part).unlink()
    if version:
        file = target / "Chart.yaml"
        chart = yaml.safe_load(file.read_text()) | {"version": version}
        file.write_text(yaml.safe_dump(chart))
    return target
