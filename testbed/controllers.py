"""Controllers of workloads beside a simulated cluster, for tests and the demo.

They are JobSet, Kubeflow Trainer, LeaderWorkerSet, KubeRay and KEDA. Each is a process outside of the cluster. Webhooks
are called by URL and serve with the certificate that the API server made for itself, which is valid for 127.0.0.1.
KEDA makes its own certificates: its metrics API needs a Service, here of type ExternalName to `localhost`.
"""

import base64
import os
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from gpuyard_simulate.api import Api, ApiError, Unreachable, connect, path_of
from gpuyard_simulate.definitions import read_manifests
from gpuyard_simulate.state import is_free, write_private
from testbed.families import KEDA, KUBERAY, WORKLOADS, Family
from testbed.monitoring import TOOLS, free_port, running

Value = dict[str, Any]
SHARE: Final = TOOLS.parent / "share"
SECONDS: Final = 120
_HOST: Final = "127.0.0.1"
_GOGC: Final = {"GOGC": "50"}


@dataclass(frozen=True, slots=True)
class Controller:
    """One controller: its programs, and its folder in `share`."""

    family: Family
    programs: tuple[str, ...]
    files: str
    group: str = ""
    """The API group of its configuration, of those with webhooks that are called by URL."""
    certificates: str = ""
    """The key of its configuration that turns its own certificates off."""
    pods: str = ""
    """The label of its pods: its patches limit the webhooks of pods to them (JobSet v0.12.0
    config/components/webhook/patches, LWS v0.9.0 config/webhook)."""


CONTROLLERS: Final[Mapping[str, Controller]] = {
    "jobset": Controller(
        WORKLOADS,
        ("jobset",),
        "jobset-controller",
        "config.jobset.x-k8s.io",
        "internalCertManagement",
        "jobset.sigs.k8s.io/jobset-name",
    ),
    "kubeflow-trainer": Controller(
        WORKLOADS,
        ("kubeflow-trainer",),
        "kubeflow-trainer",
        "config.trainer.kubeflow.org",
        "certManagement",
    ),
    "lws": Controller(
        WORKLOADS,
        ("lws",),
        "lws",
        "config.lws.x-k8s.io",
        "internalCertManagement",
        "leaderworkerset.sigs.k8s.io/name",
    ),
    "kuberay": Controller(KUBERAY, ("ray-operator",), "kuberay"),
    "keda": Controller(KEDA, tuple(tool.name for tool in KEDA.tools), "keda"),
}


def missing(names: Iterable[str]) -> str:
    """The families that must be built for these controllers; "" when all are there."""
    lacking = {
        each.family.name: None
        for each in (CONTROLLERS[name] for name in names)
        if not (SHARE / each.files / "crds").is_dir()
        or not all(os.access(TOOLS / program, os.X_OK) for program in each.programs)
    }
    return " ".join(lacking)


@contextmanager
def controllers(
    kubeconfig: Path, folder: Path, *names: str, prometheus: str = ""
) -> Iterator[None]:
    """These controllers with their kinds until the end of the block; the kinds stay.

    `prometheus` is the address of the server that answers every query of KEDA, whatever its host name: a scaler
    names a Service, and no DNS resolves it here.
    """
    api = connect(kubeconfig)
    kinds = [
        kind for name in names for kind in read_manifests(SHARE / CONTROLLERS[name].files / "crds")
    ]
    install_kinds(api, kinds)
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(
                _START[name](api, kubeconfig, folder, CONTROLLERS[name], prometheus)
            )
        yield


# ── objects ───────────────────────────────────────────────────────────────────────────────────────
def install_kinds(api: Api, kinds: Collection[Value]) -> None:
    """Create CRDs, and wait until the API server serves them: a controller that starts earlier fails."""
    put(api, [without_descriptions(kind) for kind in kinds])
    names = ", ".join(kind["metadata"]["name"] for kind in kinds)
    until(lambda: all(_is_served(api, kind) for kind in kinds), f"{names} to be served")


def _is_served(api: Api, kind: Value) -> bool:
    spec = kind["spec"]
    served = {version["name"] for version in spec["versions"] if version["served"]}
    found = [api.get(f"/apis/{spec['group']}/{version}") or {} for version in served]
    plural = spec["names"]["plural"]
    return all(plural in {r["name"] for r in each.get("resources", ())} for each in found)


def without_descriptions(value: Any) -> Any:
    """A definition without descriptions: its length is the API server's work."""
    if isinstance(value, list):
        return [without_descriptions(each) for each in value]
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k != "description" or not isinstance(v, str)}
        return {key: without_descriptions(each) for key, each in kept.items()}
    return value


def put(api: Api, objects: Collection[Value]) -> None:
    """Apply objects that do not depend on each other."""

    def apply(value: Value) -> bool:
        api.apply(value)
        return True

    with ThreadPoolExecutor(max_workers=4) as pool:
        list(
            pool.map(
                lambda each: until(lambda: apply(each), f"an apply of {path_of(each)}"), objects
            )
        )


@contextmanager
def _objects(api: Api, objects: Sequence[Value]) -> Iterator[None]:
    """Objects until the end of the block: without its server, a webhook or an API blocks others."""
    try:
        put(api, objects)
        yield
    finally:
        for each in reversed(objects):
            with suppress(ApiError):
                api.call("DELETE", path_of(each))


def until(look: Callable[[], Any], what: str) -> None:
    """Wait for a condition while the API server may be too busy to answer.

    Raises:
        TimeoutError: it did not become true.
    """
    deadline = time.monotonic() + SECONDS
    trouble = ""
    while True:
        try:
            if look():
                return
        except (ApiError, Unreachable) as problem:
            if isinstance(problem, ApiError) and not problem.is_retryable:
                raise
            trouble = f": {problem}"
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {SECONDS} s for {what}{trouble}")
        time.sleep(0.1)


def _namespace(name: str) -> Value:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


# ── JobSet, Kubeflow Trainer, LeaderWorkerSet ─────────────────────────────────────────────────────
@contextmanager
def _with_webhooks(
    api: Api, kubeconfig: Path, folder: Path, it: Controller, _: str
) -> Iterator[None]:
    own = folder / it.files
    pair = {
        end: (kubeconfig.parent / "pki" / f"apiserver.{end}").read_text() for end in ("crt", "key")
    }
    certificates = own / "k8s-webhook-server" / "serving-certs"
    for end, text in pair.items():
        write_private(certificates / f"tls.{end}", text)
    health, webhook = free_port(), free_port()
    configuration: Value = {
        "apiVersion": f"{it.group}/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        it.certificates: {"enable": False},
        "health": {"healthProbeBindAddress": f"{_HOST}:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": _HOST, "port": webhook},
    }
    if it.files == "kubeflow-trainer":  # it looks for certificates below TMPDIR, and has no setting
        configuration["metrics"]["secureServing"] = False
        configuration["statusServer"] = {"port": free_port()}
    else:
        configuration["webhook"]["certDir"] = str(certificates)
    (own / "configuration.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    (program,) = it.programs
    put(api, [_namespace(f"{it.files}-system")])
    command = [TOOLS / program, f"--config={own / 'configuration.yaml'}"]
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "TMPDIR": str(own),
        "POD_NAMESPACE": f"{it.files}-system",
        **_GOGC,
    }
    with running(own, command, f"http://{_HOST}:{health}", "/readyz", environment):
        until(lambda: not is_free(webhook), f"the webhooks of {program}")
        with _objects(api, list(_by_url(it, webhook, pair["crt"]))):
            yield


def _by_url(it: Controller, port: int, certificate: str) -> Iterator[Value]:
    authority = base64.b64encode(certificate.encode()).decode()
    only = {"matchExpressions": [{"key": it.pods, "operator": "Exists"}]}
    for hooks in read_manifests(SHARE / it.files / "webhooks"):
        changed = []
        for hook in hooks["webhooks"]:
            url = f"https://{_HOST}:{port}{hook['clientConfig']['service']['path']}"
            of_pods = any("pods" in rule["resources"] for rule in hook["rules"])
            client = {"clientConfig": {"url": url, "caBundle": authority}}
            changed.append(hook | client | ({"objectSelector": only} if of_pods else {}))
        yield hooks | {
            "metadata": {"name": f"{it.files}-{hooks['metadata']['name']}"},
            "webhooks": changed,
        }


# ── KubeRay ───────────────────────────────────────────────────────────────────────────────────────
@contextmanager
def _kuberay(_: Api, kubeconfig: Path, folder: Path, it: Controller, __: str) -> Iterator[None]:
    health = free_port()
    command = [
        TOOLS / it.programs[0],
        f"--metrics-addr={_HOST}:{free_port()}",
        f"--health-probe-bind-address={_HOST}:{health}",
        "--enable-leader-election=false",
        "--log-stdout-encoder=console",
    ]
    environment = {"KUBECONFIG": str(kubeconfig), **_GOGC}
    with running(folder, command, f"http://{_HOST}:{health}", "/readyz", environment):
        yield


# ── KEDA ──────────────────────────────────────────────────────────────────────────────────────────
_KEDA: Final = "keda"
_METRICS: Final = "external.metrics.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"


@contextmanager
def _keda(
    api: Api, kubeconfig: Path, folder: Path, it: Controller, prometheus: str
) -> Iterator[None]:
    certificates = folder / "keda-certificates"
    certificates.mkdir(exist_ok=True, mode=0o700)
    grpc, operators, adapters, hooks, health, metrics = (free_port() for _ in range(6))
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "POD_NAMESPACE": _KEDA,
        "KEDA_CLUSTER_OBJECT_NAMESPACE": _KEDA,
        "WATCH_NAMESPACE": "",
        **_GOGC,
    }
    operator, adapter, webhooks = it.programs
    start_operator = [
        TOOLS / operator,
        "--enable-cert-rotation=true",
        f"--cert-dir={certificates}",
        f"--metrics-bind-address={_HOST}:{free_port()}",
        f"--health-probe-bind-address={_HOST}:{operators}",
        f"--metrics-service-bind-address={_HOST}:{grpc}",
    ]
    start_webhooks = [
        TOOLS / webhooks,
        f"--cert-dir={certificates}",
        f"--port={hooks}",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={_HOST}:{health}",
    ]
    start_adapter = [
        TOOLS / adapter,
        f"--secure-port={adapters}",
        f"--bind-address={_HOST}",
        f"--port={metrics}",
        f"--metrics-service-address={_HOST}:{grpc}",
        f"--metrics-service-grpc-authority=keda-operator.{_KEDA}.svc",
        f"--client-ca-file={certificates / 'ca.crt'}",
        f"--tls-cert-file={certificates / 'tls.crt'}",
        f"--tls-private-key-file={certificates / 'tls.key'}",
        f"--cert-dir={certificates}",
        *(
            f"--{of}-kubeconfig={kubeconfig}"
            for of in ("lister", "authentication", "authorization")
        ),
    ]
    proxy = {"HTTP_PROXY": prometheus, "http_proxy": prometheus} if prometheus else {}
    put(api, [_namespace(_KEDA)])
    with ExitStack() as stack:
        stack.enter_context(_objects(api, _keda_objects(it, hooks, adapters)))
        _make_certificates(api, start_operator, {**os.environ, **environment}, certificates)
        for command, port, ready, more in (
            (start_operator, operators, "/readyz", proxy),
            (start_webhooks, health, "/readyz", {}),
            (start_adapter, metrics, "/metrics", {}),
        ):
            run = running(folder, command, f"http://{_HOST}:{port}", ready, environment | more)
            stack.enter_context(run)
        until(lambda: _is_available(api), f"{_METRICS} to be available")
        yield


def _make_certificates(
    api: Api, command: Sequence[object], environment: Mapping[str, str], folder: Path
) -> None:
    """Let the operator make its certificates, and copy them to where the kubelet would mount them.

    The operator ends afterwards, so that its pod starts again with them.
    """

    def copied() -> bool:
        path = f"/api/v1/namespaces/{_KEDA}/secrets/kedaorg-certs"
        found = (api.get(path) or {}).get("data") or {}
        for name, value in found.items():
            write_private(folder / name, base64.b64decode(value).decode())
        return "tls.crt" in found

    if not copied():
        with (folder.parent / "keda-certificates.log").open("w") as log:
            process = subprocess.Popen(
                [str(word) for word in command], stdout=log, stderr=log, env=dict(environment)
            )
            try:
                until(copied, "the certificates of KEDA")
            finally:
                process.terminate()
                process.wait(30)


def _is_available(api: Api) -> bool:
    path = f"/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.{_METRICS}"
    conditions = (api.get(path) or {}).get("status", {}).get("conditions", ())
    return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)


def _keda_objects(it: Controller, hooks: int, adapter: int) -> list[Value]:
    """Its webhooks and its metrics API, at their ports of this machine."""
    names = ("keda-admission-webhooks", "keda-metrics-apiserver")
    outside = {"type": "ExternalName", "externalName": "localhost"}
    objects: list[Value] = [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": _KEDA},
            "spec": outside,
        }
        for name in names
    ]
    for each in read_manifests(SHARE / it.files / "webhooks"):
        for hook in each["webhooks"]:
            hook["clientConfig"]["service"]["port"] = hooks
        objects.append(each)
    for each in read_manifests(SHARE / it.files / "metrics"):
        each["spec"]["service"]["port"] = adapter
        objects.append(each)
    return [*objects, *_rights()]


def _rights() -> list[Value]:
    """The right to read metrics, for requests of the API server itself.

    A simulated API server has no client certificate, so the adapter sees each of its requests as anonymous. The API
    server has checked the rights of the user before.
    """
    role = f"{_KEDA}-external-metrics"
    rules = [{"apiGroups": [_METRICS], "resources": ["*"], "verbs": ["*"]}]
    api = f"{_RBAC}/v1"
    anonymous = {"kind": "User", "apiGroup": _RBAC, "name": "system:anonymous"}
    autoscaler = {
        "kind": "ServiceAccount",
        "name": "horizontal-pod-autoscaler",
        "namespace": "kube-system",
    }
    return [
        {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": role}, "rules": rules},
        *(
            {
                "apiVersion": api,
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"{_KEDA}-{of.replace(':', '-')}"},
                "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": of},
                "subjects": [anonymous, autoscaler],
            }
            for of in (role, "system:discovery")
        ),
    ]


_START: Final = {
    "jobset": _with_webhooks,
    "kubeflow-trainer": _with_webhooks,
    "lws": _with_webhooks,
    "kuberay": _kuberay,
    "keda": _keda,
}
