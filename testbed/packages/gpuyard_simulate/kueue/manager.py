"""The real Kueue manager, as a process outside the cluster.

Four things that a pod would have are done here: the webhook service leads to this machine (a service
of type ExternalName to `localhost`, so that certificates do not need this machine's name), each webhook
has our port, the certificate secret is copied to where the kubelet would mount it, and the CRDs get the
conversion stanza that Kueue's own installation adds to some.
"""

import base64
from pathlib import Path
from typing import Final

import yaml

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_core.manifests.queued import QUEUED_KINDS
from gpuyard_core.names import KUEUE_API
from gpuyard_simulate.api import Api, ApiError, ApiObject, Unreachable
from gpuyard_simulate.definitions import read_manifests, without_pod_descriptions
from gpuyard_simulate.kueue.certificates import load_certificates, store_certificates
from gpuyard_simulate.parts import Place
from gpuyard_simulate.state import is_free, write_private

NAMESPACE: Final = "kueue-system"
SERVICE: Final = "kueue-webhook-service"
SECRET: Final = "kueue-webhook-server-cert"  # noqa: S105  its name, not its content
# A platform may write its configuration here, where Kueue's chart keeps it; the agents react to changes.
CONFIG_MAP: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps/kueue-manager-config"
CONFIG_KEY: Final = "controller_manager_config.yaml"
# Those of Kueue's chart; Kueue skips kinds whose CRD is not installed, until it is.
_FRAMEWORKS: Final = tuple(
    kind.removeprefix("apps/").lower() for kind, found in QUEUED_KINDS.items() if found.by_default
)
# As in Kueue's own installation. Kueue cannot convert other kinds, and the API server, which converts stored
# objects into each served version, would retry forever, even without a reader of the old version.
CONVERTED: Final = frozenset(
    f"{plural}.kueue.x-k8s.io"
    for plural in ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
)
# As in Kueue's own installation: its webhooks must not block the control plane's own pods.
_NOT_IN_SYSTEM: Final[ApiObject] = {
    "matchExpressions": [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", NAMESPACE],
        }
    ]
}


def default_configuration(frameworks: list[str]) -> ApiObject:
    """The configuration until a platform has its own."""
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "manageJobsWithoutQueueName": False,
        "integrations": {"frameworks": frameworks},
        "fairSharing": {
            "preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
        },
        # Fake pods are ready at once when they have a node, so only a gang that finds no nodes can run
        # into this: half an hour, Kueue's default, would hide that in a demo.
        "waitForPodsReady": {"timeout": "5m", "recoveryTimeout": "5m", "blockAdmission": False},
    }


def configuration(base: ApiObject, ports: dict[str, int], certificates: Path) -> ApiObject:
    """A configuration with the values that running outside the cluster requires."""
    dictated: dict[str, ApiObject] = {
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports['kueue-health']}"},
        "metrics": {"bindAddress": f"127.0.0.1:{ports['kueue-metrics']}"},
        "webhook": {
            "host": "127.0.0.1",
            "port": ports["kueue-webhook"],
            "certDir": str(certificates),
        },
        "leaderElection": {"leaderElect": False},
        # It would be an aggregated API server, which needs a service that the API server can reach.
        "featureGates": {"VisibilityOnDemand": False},
        # Without a certificate manager Kueue makes its own; with `false` it insists on mounted ones.
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": SERVICE,
            "webhookSecretName": SECRET,
        },
    }
    return base | {key: {**(base.get(key) or {}), **value} for key, value in dictated.items()}


def with_conversion(crd: ApiObject, port: int, authority: str = "") -> ApiObject:
    """The CRD with Kueue's conversion webhook where Kueue converts it; others differ in a version's name."""
    if crd["metadata"]["name"] not in CONVERTED:
        return crd
    service = {"name": SERVICE, "namespace": NAMESPACE, "path": "/convert", "port": port}
    client = _client(service, authority)
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    return crd | {"spec": crd["spec"] | {"conversion": {"strategy": "Webhook", "webhook": webhook}}}


def with_port(hooks: ApiObject, port: int, authority: str = "") -> ApiObject:
    """Webhook configuration as installed under Kueue's name, with our port."""
    changed = []
    for hook in hooks["webhooks"]:
        path = hook["clientConfig"]["service"]["path"]
        service = {"name": SERVICE, "namespace": NAMESPACE, "port": port, "path": path}
        ours = hook | {"clientConfig": _client(service, authority)}
        if not any("kueue.x-k8s.io" in rule["apiGroups"] for rule in hook["rules"]):
            ours["namespaceSelector"] = _NOT_IN_SYSTEM
        changed.append(ours)
    name = f"kueue-{hooks['metadata']['name']}"
    return hooks | {"metadata": {"name": name}, "webhooks": changed}


def _client(service: ApiObject, authority: str) -> ApiObject:
    """How the API server reaches a webhook; without an authority Kueue adds its own."""
    return {"service": service} | ({"caBundle": authority} if authority else {})


def crds(place: Place) -> list[ApiObject]:
    """Kueue's CRDs."""
    port = place.port("kueue-webhook")
    authority = load_certificates(place.tools).get("ca.crt", "")
    result = read_manifests(place.tools.share / "kueue" / "crds")
    return [without_pod_descriptions(with_conversion(crd, port, authority)) for crd in result]


def supporting_objects(place: Place) -> list[ApiObject]:
    """Everything else Kueue expects to find in the cluster."""
    certificates = load_certificates(place.tools)
    authority = certificates.get("ca.crt", "")
    secret: ApiObject = {"data": certificates} if certificates else {}
    port = place.port("kueue-webhook")
    inside = {"namespace": NAMESPACE}
    hooks = read_manifests(place.tools.share / "kueue" / "webhooks")
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": SERVICE, **inside},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        },
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET, **inside}, **secret},
        *(with_port(hook, port, authority) for hook in hooks),
    ]


def wanted_configuration(api: Api, place: Place) -> str:
    """The configuration that Kueue should use: the platform's if it has one, otherwise ours."""
    config_map = api.get(CONFIG_MAP)
    text = (config_map or {}).get("data", {}).get(CONFIG_KEY)
    certificates = place.folder.path / "kueue" / "certs"
    if not text:
        default = default_configuration(list(_FRAMEWORKS))
        result = configuration(default, place.settings.ports, certificates)
    else:
        try:
            result = configuration(dict(yaml.safe_load(text)), place.settings.ports, certificates)
        except (yaml.YAMLError, TypeError, ValueError) as problem:
            raise EnvironmentMissing(
                f"ConfigMap kueue-manager-config, key {CONFIG_KEY}, is not a Kueue configuration ({problem});"
                " fix or delete it and run `python -m gpuyard_simulate up` again"
            ) from problem
    return yaml.safe_dump(result, sort_keys=True)


def configuration_path(place: Place) -> Path:
    """The configuration file Kueue was started with."""
    return place.folder.path / "kueue" / "configuration.yaml"


def copy_certificates(api: Api, place: Place) -> None:
    """Copy the secret to where Kueue expects mounted files, as soon as Kueue has filled it in."""
    folder = place.folder.path / "kueue" / "certs"
    try:
        secret = api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}") or {}
    except (ApiError, Unreachable):
        return
    store_certificates(place.tools, secret.get("data") or {})
    for name, value in (secret.get("data") or {}).items():
        text, path = base64.b64decode(value).decode(), folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_private(path, text)


def is_ready(api: Api) -> bool:
    """Whether Kueue's webhooks answer: a dry run of a flavor goes through two of them."""
    flavor = {
        "apiVersion": KUEUE_API,
        "kind": "ResourceFlavor",
        "metadata": {"name": "probe"},
    }
    try:
        api.call("POST", f"/apis/{KUEUE_API}/resourceflavors?dryRun=All", flavor)
    except (ApiError, Unreachable):
        return False
    return True


def is_listening(place: Place) -> bool:
    """Whether Kueue's webhook server has started; cheaper than calling a webhook."""
    return not is_free(place.port("kueue-webhook"))
