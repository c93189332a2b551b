"""The invokes `kubernetes:yaml:decode` and, with a `helm` binary, `kubernetes:helm:template`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from testbed.plugins.kubernetes.checking import CLUSTER_SCOPED
from testbed.plugins.kubernetes.cluster import Cluster
from testbed.plugins.kubernetes.failures import ApiError, NoSuchKind, ProviderError, Unreachable
from testbed.plugins.kubernetes.values import Object, path


def invoke(function: str, arguments: Object, cluster: Cluster | None) -> list[Object]:
    """Handle an invoke; each returns a list of objects."""
    if function == "kubernetes:yaml:decode":
        text = arguments.get("text")
        if not isinstance(text, str):
            raise ProviderError("missing required field 'text' of type string")
        return decode(text, str(arguments.get("defaultNamespace") or ""), cluster)
    if function == "kubernetes:helm:template":
        options = arguments.get("jsonOpts")
        if not isinstance(options, str):
            raise ProviderError("missing required field 'jsonOpts' of type string")
        return template(json.loads(options), cluster)
    raise ProviderError(
        f'"{function}" is not supported by this stand-in of the kubernetes provider'
    )


def decode(text: str, namespace: str, cluster: Cluster | None) -> list[Object]:
    """The objects in YAML documents, with the default namespace where the kind lives in one."""
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise ProviderError(f"cannot read YAML: {error}") from error
    objects = [
        item
        for item in documents
        if isinstance(item, dict) and item.get("kind") and item.get("apiVersion")
    ]
    for obj in objects:
        if namespace and not path(obj, "metadata", "namespace") and _namespaced(obj, cluster):
            obj.setdefault("metadata", {})["namespace"] = namespace
    return [json.loads(json.dumps(obj, default=str)) for obj in objects]


def _namespaced(obj: Object, cluster: Cluster | None) -> bool:
    try:
        return cluster.kind_of(obj).namespaced if cluster else obj["kind"] not in CLUSTER_SCOPED
    except (NoSuchKind, ApiError, Unreachable):
        return obj["kind"] not in CLUSTER_SCOPED


def find_helm() -> str | None:
    """The `helm` to use: $GPUYARD_HELM, the one built here, or the one on PATH."""
    built = Path(__file__).resolve().parents[3] / ".testbed" / "bin" / "helm"
    chosen = os.environ.get("GPUYARD_HELM") or (str(built) if built.is_file() else None)
    return chosen or shutil.which("helm")


def template(options: Object, cluster: Cluster | None) -> list[Object]:
    """The output of `helm template` for a local chart."""
    folder = _chart_folder(options)
    binary = find_helm()
    if binary is None:
        raise ProviderError(
            f"cannot render chart {folder}: no helm binary. Build one with the test bed's "
            "builder, put helm on PATH, or "
            "use the official kubernetes provider"
        )
    command = [
        binary,
        "template",
        str(options.get("release_name") or folder.name),
        str(folder),
        "--values",
        "-",
    ]
    command += ["--namespace", str(options.get("namespace") or "default")]
    if not options.get("skip_crd_rendering"):
        command.append("--include-crds")
    if not options.get("include_test_hook_resources"):
        command.append("--skip-tests")
    for version in options.get("api_versions") or []:
        command += ["--api-versions", str(version)]
    if options.get("kube_version"):
        command += ["--kube-version", str(options["kube_version"])]
    values = json.dumps(options.get("values") or {})
    done = subprocess.run(command, input=values, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProviderError(
            f"failed to generate YAML for specified Helm chart: {done.stderr.strip()}"
        )
    return decode(done.stdout, str(options.get("namespace") or ""), cluster)


def _chart_folder(options: dict[str, Any]) -> Path:
    root, chart = str(options.get("path") or ""), str(options.get("chart") or "")
    if not root and not Path(chart).is_dir():
        raise ProviderError(
            f'failed to generate YAML for specified Helm chart: "{chart}" would have to be '
            "fetched from a repository, "
            "which this stand-in does not do. Give a local chart "
            "(helm.v3.LocalChartOpts(path=…)) or use the official provider"
        )
    folder = Path(root or chart)
    if not (folder / "Chart.yaml").is_file() and chart and (folder / chart).is_dir():
        folder = folder / chart
    return folder
