"""`kubernetes:helm.sh/v3:Release`: installed by `helm` for a local chart, else only recorded.

A chart repository cannot be reached from the test bed, so a recorded release installs nothing. Its
values are checked against the chart's:
`$GPUYARD_UPSTREAM/values/<chart>.yaml` where that exists. provider/pkg/provider/helm_release.go of
the official provider is the model for names, defaults, diff and state.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pulumi.runtime.proto import provider_pb2 as wire

from testbed.plugins.kubernetes.checking import Request
from testbed.plugins.kubernetes.diff import Comparison
from testbed.plugins.kubernetes.failures import ProviderError, scrub
from testbed.plugins.kubernetes.templates import find_helm
from testbed.plugins.kubernetes.values import (
    UNKNOWN,
    Object,
    Secret,
    clone,
    has_unknown,
    mark_secrets,
    path,
    secret_strings,
    transform,
    write,
)

if TYPE_CHECKING:
    from testbed.plugins.kubernetes.objects import Objects

RELEASE = "kubernetes:helm.sh/v3:Release"
INPUTS = "__inputs"
DEFAULT_TIMEOUT_SECONDS = 300
# Maps whose keys the user chooses, even where the chart has an example key.
_FREE_FORM = {
    *(
        "nodeSelector",
        "labels",
        "annotations",
        "podLabels",
        "podAnnotations",
        "commonLabels",
        "commonAnnotations",
    ),
    *(
        "tolerations",
        "affinity",
        "resources",
        "limits",
        "requests",
        "env",
        "extraArgs",
        "securityContext",
        "global",
    ),
    *("podSecurityContext", "containerSecurityContext", "matchLabels", "additionalLabels", "data"),
}
_COMMENTED = frozenset(
    f"gpu-operator {value}"
    for value in (
        "operator.version",
        "validator.version",
        "nodeStatusExporter.version",
        "dcgmExporter.config",
    )
)
"""Values that templates read and that are commented out in the file."""
_SUBCHARTS = frozenset(
    {"grafana", "kube-state-metrics", "node-feature-discovery", "prometheus-node-exporter"}
)
"""Subcharts; the chart's values file contains only the values that it sets for them, so their own file is read."""


def check(objects: Objects, request: Request, old: Object, value: Object) -> wire.CheckResponse:
    """Fill in name, namespace and timeout; reject values that the chart does not have."""
    release: Object = clone(value)
    release.pop("resourceNames", None)
    if not release.get("name"):
        old_name = old.get("name")
        release["name"] = old_name or f"{request.name}-{secrets.token_hex(4)}"
    if not release.get("namespace"):
        release["namespace"] = objects.namespace
    if not release.get("skipAwait") and "timeout" not in release:
        release["timeout"] = DEFAULT_TIMEOUT_SECONDS
    failures = []
    if not has_unknown(release):
        failures = _failures(release)
        if (chart := _local_chart(release)) is not None:
            release["version"] = chart["version"]
    return wire.CheckResponse(inputs=write(release), failures=failures)


def _failures(release: Object) -> list[wire.CheckFailure]:
    tree = _upstream_values(_chart_name(release))
    if tree is None:
        return []
    chart = _chart_name(release)
    return [
        wire.CheckFailure(
            property="values",
            reason=f'chart "{chart}" has no value "{unknown}"; check it against the chart\'s values.yaml',
        )
        for unknown in unknown_values(
            transform(release.get("values") or {}, lambda item: item), tree
        )
        if f"{chart} {unknown}" not in _COMMENTED
    ]


def unknown_values(
    inputs: Mapping[str, Any], tree: Mapping[str, Any], at: str = ""
) -> Iterator[str]:
    """The paths in `given` that the chart's values do not have."""
    for key, value in inputs.items():
        where = f"{at}.{key}" if at else key
        if key not in tree:
            if key not in _FREE_FORM:
                yield where
            continue
        known = tree[key]
        if (
            key in _FREE_FORM
            or not isinstance(value, Mapping)
            or not isinstance(known, Mapping)
            or not known
        ):
            continue
        if key in _SUBCHARTS:
            own = _upstream_values(key)
            if own is None:
                continue
            known = {**own, **known, "global": {}}
        yield from unknown_values(value, known, where)


LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The C loader if available: without it the values of a chart take a quarter of a second."""


def _chart_name(release: Object) -> str:
    return str(release.get("chart", "")).rstrip("/").rpartition("/")[2]


def _upstream_values(chart: str) -> Object | None:
    root = os.environ.get("GPUYARD_UPSTREAM")
    if not root or not chart:
        return None
    file = Path(root) / "values" / f"{chart}.yaml"
    return yaml.load(file.read_text(), Loader=LOADER) if file.is_file() else None  # noqa: S506  a safe one


def _local_chart(release: Object) -> Object | None:
    """The Chart.yaml of a chart that is a local folder."""
    file = Path(str(release.get("chart", ""))) / "Chart.yaml"
    parsed = yaml.safe_load(file.read_text()) if file.is_file() else None
    return parsed if isinstance(parsed, dict) else None


def diff(state: Object, value: Object, ignored: list[str]) -> wire.DiffResponse:
    """Compare inputs with inputs; only the name and the namespace replace a release."""
    old = _inputs(state)
    old.pop("checksum", None)
    old.pop("resourceNames", None)
    new = transform(value, lambda item: item)
    if "version" in ignored:
        new["version"] = old.get("version")
    comparison = Comparison((".name", ".namespace")).compare(old, new, old)
    comparison.ignore(ignored)
    result = comparison.found
    return wire.DiffResponse(
        changes=wire.DiffResponse.DIFF_SOME if result else wire.DiffResponse.DIFF_NONE,
        replaces=comparison.replaces,
        diffs=sorted({key.partition(".")[0] for key in result}),
        detailedDiff=result,
        hasDetailedDiff=bool(result),
    )


def _inputs(state: Object) -> Object:
    retained = state.get(INPUTS) or {}
    opened: Object = transform(retained, lambda item: item)
    return opened


def create(objects: Objects, value: Object, *, preview: bool) -> tuple[str, Object]:
    """Install or record the release; returns id and state."""
    if not preview and objects.cluster is None:
        raise ProviderError(
            f"can't create Helm Release with unreachable cluster: {objects.unreachable}"
        )
    state = _apply(objects, value, revision=1, preview=preview)
    return ("" if preview else f"{state['namespace']}/{_open(state['name'])}"), state


def update(objects: Objects, state: Object, value: Object, *, preview: bool) -> Object:
    """Upgrade or record the release; returns the state."""
    if not preview and objects.cluster is None:
        raise ProviderError(
            f"can't update Helm Release with unreachable cluster: {objects.unreachable}"
        )
    revision = path(state, "status", "revision", default=1)
    return _apply(
        objects, value, revision=(revision if isinstance(revision, int) else 1) + 1, preview=preview
    )


def delete(objects: Objects, state: Object) -> None:
    """Uninstall a release that was installed."""
    if objects.cluster is None:
        raise ProviderError(
            f'can\'t delete Helm Release with unreachable cluster. Reason: "{objects.unreachable}"'
        )
    release = _inputs(state)
    binary = find_helm()
    if _local_chart(release) is None or binary is None:
        return
    command = [binary, "uninstall", release["name"], "--namespace", release["namespace"]]
    command.append("--ignore-not-found")
    if release.get("atomic") or not release.get("skipAwait"):
        command += ["--wait", "--timeout", f"{_seconds(release)}s"]
    _run(objects, command)


def _apply(objects: Objects, configured: Object, *, revision: int, preview: bool) -> Object:
    release = transform(configured, lambda item: item)
    state: Object = {key: value for key, value in release.items() if not isinstance(value, Secret)}
    if preview:
        state.update(resourceNames=UNKNOWN, status=UNKNOWN)
    else:
        chart, binary = _local_chart(release), find_helm()
        if chart is not None and binary is not None:
            _install(objects, binary, release, secret_strings(configured))
        state["resourceNames"] = {}
        state["status"] = {
            "name": release["name"],
            "namespace": release["namespace"],
            "revision": revision,
            "status": "deployed",
            "chart": (chart or {}).get("name") or _chart_name(release),
            "version": (chart or {}).get("version") or release.get("version", ""),
            "appVersion": str((chart or {}).get("appVersion", "")),
        }
    mark_secrets(state, configured)
    # The official provider keeps the inputs as one secret.
    state[INPUTS] = Secret(configured)
    return state


def _install(objects: Objects, binary: str, release: Object, hidden: set[str]) -> None:
    command = [
        binary,
        "upgrade",
        "--install",
        release["name"],
        release["chart"],
        "--namespace",
        release["namespace"],
    ]
    command += ["--values", "-"]
    if release.get("createNamespace"):
        command.append("--create-namespace")
    if release.get("skipCrds"):
        command.append("--skip-crds")
    if release.get("takeOwnership"):
        command.append("--take-ownership")
    if not release.get("skipAwait"):
        command += ["--wait", "--timeout", f"{_seconds(release)}s"]
    try:
        _run(objects, command, json.dumps(release.get("values") or {}))
    except ProviderError as error:
        raise ProviderError(scrub(str(error), hidden)) from error


def _seconds(release: Object) -> int:
    return int(release.get("timeout") or DEFAULT_TIMEOUT_SECONDS)


def _run(objects: Objects, command: list[str], text: str | None = None) -> None:
    with tempfile.TemporaryDirectory(prefix="gpuyard-helm-") as folder:
        env = dict(os.environ)
        if objects.settings.kubeconfig is not None:
            file = Path(folder) / "kubeconfig"
            file.touch(mode=0o600)
            file.write_text(yaml.safe_dump(objects.settings.kubeconfig))
            env["KUBECONFIG"] = str(file)
        done = subprocess.run(
            command, input=text, env=env, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise ProviderError(f"helm {command[1]} failed: {done.stderr.strip()}")


def _open(value: Any) -> Any:
    return value.value if isinstance(value, Secret) else value
