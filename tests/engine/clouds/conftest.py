"""What tests of clouds begin with."""

import base64
import itertools
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from testbed.plugins import environment
from testbed.plugins.cloud import installing
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.inside import control_plane
from testbed.plugins.cloud.inside.classes.definition import definition
from testbed.plugins.kubernetes.cluster import Cluster
from testbed.plugins.kubernetes.failures import ApiError, ProviderError
from testbed.plugins.kubernetes.settings import load_kubeconfig

from gpuyard_core.catalogue.gke.classes import CLASS_API, CLASS_KIND
from gpuyard_core.names import GKE_NETWORKING_GROUP
from kit import waiting
from kit.clouds.programs import of_platform
from kit.levels import upstream
from stacks import PASSPHRASE, STACK, Stack

GROUP, POOL = "aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool"
ADMIN = "gpuyard-test-admin"
PLACES = {"aws:region": "us-east-1", "gcp:region": "us-central1", "gcp:project": "my-project"}


@pytest.fixture
def of_clouds(engine, tmp_path, new_stack):
    """A stack on the fakes that needs no cluster; its program is the test's own."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copytree(new_stack / "state" / "stacks", tmp_path / "state" / "stacks")
    shutil.copy(new_stack / f"Pulumi.{STACK}.yaml", folder)
    env = environment.variables(engine, state=tmp_path / "state", passphrase=PASSPHRASE, logs=False)
    env |= installing.install(tmp_path / "state" / "home", tmp_path / "cloud")
    env |= {"PULUMI_STACK": STACK, "GPUYARD_TEST_PULUMI": str(engine.path), "GOMEMLIMIT": "1GiB"}
    none = tmp_path / "none"
    none.touch()
    stack = Stack(folder, env, "", none)
    stack.project()
    yield stack
    stack.close()


@pytest.fixture(scope="session")
def inside(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kubeconfig of the API server with a token, as clouds give one, of somebody who may do everything."""
    cluster = cluster_at(kubeconfig)
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    place = {"name": ADMIN, "namespace": "kube-system"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": ADMIN},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "ServiceAccount", **place}],
    }
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**place, "annotations": {"kubernetes.io/service-account.name": ADMIN}},
        "type": "kubernetes.io/service-account-token",
    }
    for each in ({**account, "metadata": place}, binding, secret):
        with suppress(ApiError):  # another worker was here
            cluster.create(each, {})
    token = waiting.until(lambda: (cluster.get(secret).get("data") or {}).get("token"))
    config = yaml.safe_load(kubeconfig.read_text())
    config["users"][0]["user"] = {"token": base64.b64decode(token).decode()}
    at = config["clusters"][0]["cluster"]
    authority = (kubeconfig.parent / at.pop("certificate-authority")).read_bytes()
    at["certificate-authority-data"] = base64.b64encode(authority).decode()
    file = tmp_path_factory.mktemp("inside") / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file


def cluster_at(kubeconfig: Path) -> Any:
    return Cluster.connect(load_kubeconfig(str(kubeconfig)), None)


class Yard:
    """A stack of a platform in a cloud, and the account behind it."""

    def __init__(self, stack: Stack, folder: Path, inside: Path, raw: dict[str, Any]) -> None:
        self.stack = stack
        self.folder = folder
        self.inside = inside
        self.raw = raw
        self.cloud = raw["cloud"]
        self.account = Account(folder, self.cloud)
        self.write()

    def write(self, **more: Any) -> None:
        raw = {**self.raw, **more}
        (self.stack.folder / "platform.json").write_text(json.dumps(raw))

    def file(self) -> str:
        """The same as a stack file, by its path."""
        raw = json.loads((self.stack.folder / "platform.json").read_text())
        config = {"config": {**PLACES, "gpuyard:platform": raw}}
        (self.stack.folder / "stack.yaml").write_text(json.dumps(config))
        return "./stack.yaml"

    def kinds(self) -> set[str]:
        return {each.kind for each in self.account.all()}

    def groups(self) -> dict[str, dict[str, Any]]:
        kind = GROUP if self.cloud == "aws" else POOL
        named = "nodeGroupName" if self.cloud == "aws" else "name"
        return {each.state[named]: dict(each.state) for each in self.account.all(kind)}


@pytest.fixture(scope="session")
def gke_kinds(kubeconfig: Path) -> None:
    """What GKE puts into a cluster with several networks, as far as objects of it are taken."""
    cluster = cluster_at(kubeconfig)
    networks = {"Network": "networks", "GKENetworkParamSet": "gkenetworkparamsets"}
    for each in (*itertools.starmap(_of_networks, networks.items()), definition()):
        with suppress(ApiError):  # another worker was here
            cluster.create(each, {})
    served = dict.fromkeys(networks, f"{GKE_NETWORKING_GROUP}/v1") | {CLASS_KIND: CLASS_API}
    for kind, api in served.items():  # what has just come is answered with 404 and 429 for a while
        waiting.until(
            lambda kind=kind, api=api: cluster.list(api, kind, None) is not None,
            what=f"{kind} to be served",
            errors=(ProviderError,),
        )


def _of_networks(kind: str, plural: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GKE_NETWORKING_GROUP}",
            "annotations": {"api-approved.kubernetes.io": "unapproved"},
        },
        "spec": {
            "group": GKE_NETWORKING_GROUP,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "scope": "Cluster",
            "versions": [version],
        },
    }


@pytest.fixture
def karpenter_kinds(kubeconfig: Path) -> None:
    """Kinds of other charts, which the stand-in of Helm does not install: Karpenter, KEDA and others."""
    cluster = cluster_at(kubeconfig)
    charts = ("karpenter", "dra-driver", "keda", "prometheus-operator")
    folders = [upstream("crds", name) for name in charts]
    for file in sorted(each for folder in folders for each in folder.glob("*.yaml")):
        definition = yaml.safe_load(file.read_text())
        with suppress(ApiError):  # another worker was here
            cluster.create(definition, {})
        spec = definition["spec"]
        served = f"{spec['group']}/{spec['versions'][0]['name']}", spec["names"]["kind"]
        waiting.until(
            lambda served=served: cluster.list(*served, None) is not None,
            what=f"{served[1]} to be served",
            errors=(ProviderError,),
        )


@pytest.fixture
def new_yard(stack, tmp_path, inside, gke_kinds, kueue):
    """A platform of a cloud whose cluster answers as the lab's API server."""

    def build(raw: dict[str, Any]) -> Yard:
        folder = tmp_path / "cloud"
        stack.env.update(installing.install(tmp_path / "state" / "home", folder))
        stack.env.update(control_plane.put(folder, inside))
        stack.env["PATH"] = f"{installing.STAND_INS}{os.pathsep}{stack.env['PATH']}"
        stack.project()
        for key, value in PLACES.items():
            stack.run("config", "set", "--stack", STACK, key, value)
        (stack.folder / "__main__.py").write_text(of_platform("lab"))
        cluster = cluster_at(inside)
        waiting.until(lambda: not _terminating(cluster), what="DaemonSets in deletion to go")
        return Yard(stack, folder, inside, raw)

    return build


def _terminating(cluster: Any) -> list[str]:
    """DaemonSets that a test before this one has deleted: `destroy` does not wait for those without nodes."""
    return [
        each["metadata"]["name"]
        for each in cluster.list("apps/v1", "DaemonSet", "kube-system")
        if "deletionTimestamp" in each["metadata"]
    ]
