"""Copy the files that running needs out of module folders, so that no Go is needed afterwards.

Kueue's CRDs and webhook manifests and the CRDs of JobSet, ProvisioningRequest and the Prometheus Operator are in
the sources that were compiled. The CRD of the GPU Operator's ClusterPolicy is not part of any compiled module; it is
requested as a separate module and, where the proxy does not serve it, left out: the simulated cluster
then reports that it runs without a ClusterPolicy.
"""

import shutil
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from testbed.families import CLUSTER, KEDA, KUBERAY, PROMETHEUS_OPERATOR, WORKLOADS, Family
from testbed.golang import BuildFailed, Go
from testbed.workspace import Lacks, Stamp, Workspace, write_whole

GPU_OPERATOR = "github.com/NVIDIA/gpu-operator@v26.7.0"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Files of one module: those that match `pattern` under the module go to `share/<into>`."""

    module: str
    pattern: str
    into: str
    family: str = CLUSTER.name
    """The family whose go.mod has the module."""


WANTED = (
    Wanted("sigs.k8s.io/kueue", "config/components/crd/bases/*.yaml", "kueue/crds"),
    Wanted("sigs.k8s.io/kueue", "config/components/webhook/manifests.yaml", "kueue/webhooks"),
    Wanted("sigs.k8s.io/jobset", "config/components/crd/bases/*.yaml", "jobset/crds"),
    Wanted(
        "github.com/kubeflow/training-operator",
        "manifests/base/crds/kubeflow.org_pytorchjobs.yaml",
        "training-operator/crds",
    ),
    Wanted(
        "github.com/kubeflow/mpi-operator",
        "manifests/base/kubeflow.org_mpijobs.yaml",
        "mpi-operator/crds",
    ),
    Wanted(
        "k8s.io/autoscaler/cluster-autoscaler/apis",
        "config/crd/*_provisioningrequests.yaml",
        "cluster-autoscaler/crds",
    ),
    Wanted(
        "github.com/prometheus-operator/prometheus-operator",
        "example/prometheus-operator-crd/*.yaml",
        "prometheus-operator/crds",
        PROMETHEUS_OPERATOR.name,
    ),
    *(
        Wanted(module, f"{folder}/{pattern}", f"{into}/{kind}", WORKLOADS.name)
        for module, folder, into in (
            ("sigs.k8s.io/jobset", "config/components", "jobset-controller"),
            ("github.com/kubeflow/trainer/v2", "manifests/base", "kubeflow-trainer"),
            ("sigs.k8s.io/lws", "config", "lws"),
        )
        for kind, pattern in (
            ("crds", "crds/trainer.*.yaml" if into == "kubeflow-trainer" else "crd/bases/*.yaml"),
            ("webhooks", "webhook/manifests.yaml"),
        )
    ),
    Wanted("github.com/kedacore/keda/v2", "config/crd/bases/*.yaml", "keda/crds", KEDA.name),
    Wanted(
        "github.com/kedacore/keda/v2",
        "config/webhooks/validation_webhooks.yaml",
        "keda/webhooks",
        KEDA.name,
    ),
    Wanted(
        "github.com/kedacore/keda/v2",
        "config/metrics-server/api_service.yaml",
        "keda/metrics",
        KEDA.name,
    ),
    Wanted(
        "github.com/ray-project/kuberay/ray-operator",
        "config/crd/bases/*.yaml",
        "kuberay/crds",
        KUBERAY.name,
    ),
)


def are_fresh(workspace: Workspace, family: Family, inputs: str) -> bool:
    """Whether the files of a family were copied from exactly these modules."""
    wanted = _wanted(family)
    stamp = workspace.read_stamp(_stamp(family))
    return not wanted or (
        stamp is not None
        and stamp.inputs == inputs + _recipe(wanted)
        and all((workspace.share / each.into).is_dir() for each in wanted)
    )


def _wanted(family: Family) -> tuple[Wanted, ...]:
    return tuple(each for each in WANTED if each.family == family.name)


def _stamp(family: Family) -> str:
    return "shared-files" if family is CLUSTER else f"shared-files-{family.name}"


def _recipe(wanted: tuple[Wanted, ...]) -> str:
    return sha256(repr((wanted, GPU_OPERATOR)).encode()).hexdigest()


def take_files(go: Go, workspace: Workspace, family: Family, inputs: str) -> tuple[str, ...]:
    """Copy the files of a family into `share/`; returns descriptions of missing ones."""
    half = workspace.partial / "share"
    shutil.rmtree(half, ignore_errors=True)
    for expected in _wanted(family):
        module = _module_folder(go, family, expected.module)
        files = sorted(module.glob(expected.pattern))
        if not files:
            raise BuildFailed(
                f"module {expected.module} no longer has {expected.pattern}; update testbed/shared_files.py"
            )
        _copy(files, half / expected.into)
    missing = _take_cluster_policy(go, workspace, half) if family is CLUSTER else ()
    for folder in half.iterdir():
        place = workspace.share / folder.name
        shutil.rmtree(place, ignore_errors=True)
        folder.replace(place)
    workspace.write_stamp(_stamp(family), Stamp(inputs + _recipe(_wanted(family)), go.version, 0))
    return missing


def _module_folder(go: Go, family: Family, module: str) -> Path:
    """Path of a module's sources; they are downloaded when nothing was compiled from them here."""
    ask = ["list", "-m", "-f", "{{.Dir}}", module]
    folder = go.answer(ask, family.folder)
    if not folder:
        go.answer(["mod", "download", module], family.folder)
        folder = go.answer(ask, family.folder)
    return Path(folder)


def _take_cluster_policy(go: Go, workspace: Workspace, half: Path) -> tuple[str, ...]:
    """The ClusterPolicy CRD, from the GPU Operator's module where the proxy serves it."""
    try:
        go.answer(["mod", "download", GPU_OPERATOR], workspace.partial)
        cache = Path(go.answer(["env", "GOMODCACHE"], workspace.partial))
    except (Lacks, BuildFailed):
        return (
            f"the ClusterPolicy CRD ({GPU_OPERATOR} is not served here): the simulated cluster uses a stand-in",
        )
    module = cache / "github.com" / "!n!v!i!d!i!a" / GPU_OPERATOR.rpartition("/")[2]
    results = sorted(module.glob("**/nvidia.com_clusterpolicies.yaml"))
    if not results:
        return (
            f"the ClusterPolicy CRD (not in {GPU_OPERATOR}): the simulated cluster uses a stand-in",
        )
    _copy(results[:1], half / "gpu-operator" / "crds")
    return ()


def _copy(files: list[Path], folder: Path) -> None:
    """Copy texts; file modes are dropped, because module folders are read-only."""
    for file in files:
        write_whole(folder / file.name, file.read_text(encoding="utf-8"))
