"""`renderYamlToDirectory`: objects become files instead of being sent to a cluster.

renderYaml and renderPathForResource in provider/pkg/provider/provider.go of the official provider. File
names have no numbers, so they set no order, except that custom resource definitions have a separate folder.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from testbed.plugins.kubernetes.failures import ProviderError
from testbed.plugins.kubernetes.values import Object, path

_CRD = ("apiextensions.k8s.io/", "CustomResourceDefinition")


def place(obj: Object, folder: str) -> Path:
    """The file of an object."""
    version = str(obj.get("apiVersion", "")).replace("/", "_").replace(":", "_")
    kind, name = str(obj.get("kind", "")), path(obj, "metadata", "name")
    namespace = path(obj, "metadata", "namespace") or "default"
    is_crd = kind == _CRD[1] and str(obj.get("apiVersion", "")).startswith(_CRD[0])
    below = "0-crd" if is_crd else "1-manifest"
    return Path(folder) / below / f"{version}-{kind.lower()}-{namespace}-{name}.yaml"


def write(obj: Object, folder: str) -> Path:
    """Write the object; only its owner may read it, because Secrets are written in plain text."""
    file = place(obj, folder)
    try:
        for below in ("0-crd", "1-manifest"):
            (Path(folder) / below).mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(obj, sort_keys=True, allow_unicode=True), encoding="utf-8")
    except OSError as error:
        raise ProviderError(f'failed to write YAML file: "{file}": {error.strerror}') from error
    return file


def remove(obj: Object, folder: str) -> Path:
    """Remove the object's file; a missing file is not an error."""
    file = place(obj, folder)
    file.unlink(missing_ok=True)
    return file
