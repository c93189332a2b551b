"""Digests of published tags: the digest of each image that a platform installs, at the date of its source.

The owner of a tag may change its image; a digest identifies the content. These are digests of multi-platform
indexes. They were read in public repositories, without queries to registries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import Source

_LOOKED_UP = date(2026, 11, 25)


@dataclass(frozen=True, slots=True)
class Published:
    """A published image or chart."""

    artifact: str
    """Registry, path and tag."""
    digest: str
    source: Source


_BUNDLE = Source(
    "redhat-openshift-ecosystem/certified-operators 5d529b4, gpu-operator-certified 26.7.1: relatedImages; the digest of"
    " DCGM Exporter also in a public Terraform program",
    date(2026, 11, 28),
    as_of=date(2026, 9, 23),
)
_KUEUE = Source(
    "kubernetes-sigs/kueue: log of the release, images found ready in staging (#13894, #14323, #15122, #15458)",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_DRA_DRIVER = Source(
    "kubernetes/k8s.io #9845, digests by gcrane", date(2026, 11, 28), as_of=date(2026, 8, 19)
)
_KUEUE_CHART = Source(
    "kubernetes/k8s.io #9856 (v0.19.2), #9955 (v0.19.5)",
    _LOOKED_UP,
    as_of=date(2026, 8, 20),
)
_AUTOSCALER = Source(
    "kubernetes/k8s.io #9760, digests by gcrane",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_AUTOSCALER_136 = Source(
    "a public list of 2026 whose v1.35.2 is the one of kubernetes/k8s.io #9760",
    _LOOKED_UP,
    verified=False,
    as_of=_LOOKED_UP,
)
_NFD = Source(
    "kubernetes/k8s.io #9697",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_KARPENTER = Source(
    "aws/karpenter-provider-aws 1d92708 (v1.14.1): charts/karpenter/values.yaml",
    _LOOKED_UP,
    as_of=date(2026, 8, 20),
)
_KARPENTER_BEFORE = Source(
    "aws/karpenter-provider-aws v1.13.0: charts/karpenter/values.yaml",
    _LOOKED_UP,
    as_of=_LOOKED_UP,
)
_RDMA = Source(
    "Mellanox/network-operator-docs, docs/advanced/images-sha256.rst of v25.4.0, by tag;"
    " the same in redhat-openshift-ecosystem/certified-operators 4eadb03, nvidia-network-operator 25.4.0: relatedImages",
    date(2026, 11, 26),
    as_of=date(2026, 11, 26),
)
_PAUSE = Source(
    "ten public manifests of 2026 have this digest with the tag",
    _LOOKED_UP,
    verified=False,
    as_of=_LOOKED_UP,
)
_MONITORING = Source(
    "Stuhlmuller/homelab, audit of the images of kube-prometheus-stack of 2026-08-30: index digests with those of amd64;"
    " Prometheus and Alertmanager in nine other public repositories too",
    date(2026, 11, 29),
    verified=False,
    as_of=date(2026, 8, 30),
)
_JOBSET = Source(
    "kubernetes/k8s.io #9456, digests of image and chart",
    date(2026, 11, 29),
    as_of=date(2026, 5, 8),
)
_KUBERAY = Source(
    "two public manifests of 2026 have this digest with the tag",
    date(2026, 11, 29),
    verified=False,
    as_of=date(2026, 11, 29),
)
_ARGO_WORKFLOWS = Source(
    "a public manifest with the index digests by crane",
    date(2026, 11, 29),
    verified=False,
    as_of=date(2026, 8, 11),
)
_ARGO_CD = Source(
    "six public repositories have this digest of Argo CD with the tag, two that of Redis",
    date(2026, 11, 29),
    verified=False,
    as_of=date(2026, 11, 29),
)
_CERT_MANAGER = Source(
    "two public component lists of 2026 have these digests with the tag",
    date(2026, 11, 29),
    verified=False,
    as_of=date(2026, 11, 29),
)

_ROWS: tuple[tuple[str, str, Source], ...] = (
    (
        "nvcr.io/nvidia/gpu-operator:v26.7.1",
        "b844f9c033e748b8f9925f791f426a531ee8a855f04d4ccea365378634bcefe5",
        _BUNDLE,
    ),
    (
        "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.12.1",
        "37e6bf0cf02b5888288a173353b858da8823cc9f9fb9c6e8d6d1e2cf5bfb16c8",
        _BUNDLE,
    ),
    (
        "nvcr.io/nvidia/k8s/container-toolkit:v1.20.1",
        "00a422252dd875b112f5974321c2feebbdf11c338f8ad131e5ce18e5b3a3bfac",
        _BUNDLE,
    ),
    (
        "nvcr.io/nvidia/k8s-device-plugin:v0.20.1",
        "27c1b2553a690ca3d29889dcd61df97525d46f58272c0be8dc63c2b18f120075",
        _BUNDLE,
    ),
    (
        "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.15.1",
        "c1674fa2f46012dc425539f7fcac6445dce13bc81a05e4f91e311c7b8c27bcaf",
        _BUNDLE,
    ),
    (
        "nvcr.io/nvidia/k8s/dcgm-exporter:4.6.1-4.8.4-distroless",
        "148b0c025e5f2850256816fa33754fbf4733b7a086697a95613fc0ba3db5b003",
        _BUNDLE,
    ),
    (
        "nvcr.io/nvidia/dra-driver-nvidia-gpu:v0.5.0",
        "9b46984c0eb18def60e2b9817b874275f4b5b08d12d491de4f1a7b91b51d706c",
        _BUNDLE,
    ),
    (
        "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5.0",
        "e1f104e64383ee693e982a5e6b7cf0b750023aaa5cc9b7dcc37c8e0549232933",
        _DRA_DRIVER,
    ),
    (
        "registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu:0.5.0",
        "47e43e3fbcaf525accef5b5ad14d87e80e19ef1549839495dcb0eabd06ff3bbe",
        _DRA_DRIVER,
    ),
    (
        "registry.k8s.io/nfd/node-feature-discovery:v0.19.0",
        "2fa1c99ad09bdf2c8ad97706a4ad2fd548c84d5ecd70ba32a6152c667b96c4d2",
        _NFD,
    ),
    (
        "registry.k8s.io/kueue/kueue:v0.19.1",
        "7a2204a64388f51a0239f22df989b62390ec1b3d21424ee3a35be7bbc23f9f8f",
        _KUEUE,
    ),
    (
        "registry.k8s.io/kueue/kueue:v0.19.2",
        "8a77be2df3d441d1a99b60eb1625c835b5f4feda5db02ece26818cf2a30c4d86",
        _KUEUE,
    ),
    (
        "registry.k8s.io/kueue/kueue:v0.19.4",
        "cc980ec83c698369d55f3b9105fb602ba85a558cb1bf3cafa02ce38a6a695c26",
        _KUEUE,
    ),
    (
        "registry.k8s.io/kueue/kueue:v0.19.5",
        "a55949705d7ab1fe38034da56c5af95deecec3da0abebb209a372f7a5c414a2d",
        _KUEUE,
    ),
    (
        "registry.k8s.io/kueue/charts/kueue:0.19.2",
        "ab436c33ef6c6b9b9e95b633e618bca0e0e436d6581d3b27bd12fc8a8026ab34",
        _KUEUE_CHART,
    ),
    (
        "registry.k8s.io/kueue/charts/kueue:0.19.5",
        "570cdfce9f9928a8cf36ea814278e2e56651d2e7f2dac3363ebf3e0cda303bc2",
        _KUEUE_CHART,
    ),
    (
        "registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.6",
        "7b44e0f075b2c8f9952e339b6c396cd4d1c3831c24c0fe092a3e708c45e6ec51",
        _AUTOSCALER,
    ),
    (
        "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.5",
        "5c3a56440ffc76eac79e7d7e840153c1fbe7b6e02d415e76a45ba2e0ef99a266",
        _AUTOSCALER,
    ),
    (
        "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.2",
        "aac369dc283927a623deb1af54696efcc722ae79255aa07788422e495bab887d",
        _AUTOSCALER,
    ),
    (
        "registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1",
        "461388d03eb5b55db58941ee7a81d9a619dd15302b01cbab9f5a9946715994b4",
        _AUTOSCALER_136,
    ),
    (
        "public.ecr.aws/karpenter/controller:1.14.1",
        "723130949e4cab989461ff07d1be4cd781d63515432494641b33c235f300ae23",
        _KARPENTER,
    ),
    (
        "public.ecr.aws/karpenter/controller:1.13.0",
        "ea731b0cd813add8b2947a76bfe861c38069d85922b01d0c1647d1466279b7fe",
        _KARPENTER_BEFORE,
    ),
    (
        "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3",
        "1eb5ab7f4b6f0cf89c954cf7ac8eb2e6fb2290a4f5f57417136a5302f20b12c8",
        _RDMA,
    ),
    (
        "quay.io/prometheus/prometheus:v3.14.0-distroless",
        "50c707e96da5ade383cb1707790576480485e93de06aa60ad8802cb5f744bd0a",
        _MONITORING,
    ),
    (
        "quay.io/prometheus/alertmanager:v0.34.0",
        "690c7b525f4367aa91f73e2f91c632206d32e97c6384bdbf2fb7a861b420340d",
        _MONITORING,
    ),
    (
        "quay.io/prometheus-operator/prometheus-operator:v0.93.1",
        "e52bb28fd41c98dd407c7a8cba8bdcfe7eabd7447e250afaf1fe7bb816dedbff",
        _MONITORING,
    ),
    (
        "quay.io/prometheus-operator/prometheus-config-reloader:v0.93.1",
        "428f088fe6fe07ab138bda92113664b04848a1dc408e4d3680a60ecdb55d1a65",
        _MONITORING,
    ),
    (
        "registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.20.0",
        "42cfe3723a5f058171c627537fb57a3ea0f26e4380fa18555a95cb1a1b4cfc5b",
        _MONITORING,
    ),
    (
        "registry.k8s.io/pause:3.10.1",
        "278fb9dbcca9518083ad1e11276933a2e96f23de604a3a08cc3c80002767d24c",
        _PAUSE,
    ),
    (
        "registry.k8s.io/jobset/jobset:v0.12.0",
        "e75536f1135b7bb2f19f8c3b620782fbdd9091d73398e3a272f9a5fed322980d",
        _JOBSET,
    ),
    (
        "registry.k8s.io/jobset/charts/jobset:0.12.0",
        "02808a890a0b0e03a1d3bf5959e2f562b3b47c15e446bbba358c1d24e1f81b24",
        _JOBSET,
    ),
    (
        "quay.io/kuberay/operator:v1.7.0",
        "4a779237ef1c5262a63840ccf42d0d67f0b74e911158fbcaee4478fb1560bce6",
        _KUBERAY,
    ),
    (
        "quay.io/argoproj/workflow-controller:v4.0.8",
        "7a156419f80285859fc8f859927b6cc249f0d128e161e080dc17fca8fcbbceb6",
        _ARGO_WORKFLOWS,
    ),
    (
        "quay.io/argoproj/argoexec:v4.0.8",
        "86a965d7eea176959351156e24f3a2fa8d8e342e477ef425009af95a12e3fe87",
        _ARGO_WORKFLOWS,
    ),
    (
        "quay.io/argoproj/argocd:v3.5.3",
        "dd3f47d5a5e4da563a7a398506e892481b358a7cec50abdf320c71aa55904bfa",
        _ARGO_CD,
    ),
    (
        "public.ecr.aws/docker/library/redis:8.2.3-alpine",
        "08ad0b1d280850169a790dba1393ff7a90aef951fc19632cf4d3ce4f78e679ba",
        _ARGO_CD,
    ),
    (
        "quay.io/jetstack/cert-manager-controller:v1.21.2",
        "70f532fd9cfde0b09d55687200942399d89838bc2d5d5b45152eb799a15912b8",
        _CERT_MANAGER,
    ),
    (
        "quay.io/jetstack/cert-manager-webhook:v1.21.2",
        "a60e2dac46dbb8a7f3df95c54ce941012f54c2fe022f0ee55aaa1ab40ed957ae",
        _CERT_MANAGER,
    ),
    (
        "quay.io/jetstack/cert-manager-cainjector:v1.21.2",
        "c85268c64f2e0e76684bf5fe8906caff34b82523561c6affe0fae3546bd87562",
        _CERT_MANAGER,
    ),
)
PUBLISHED: Mapping[str, Published] = {
    artifact: Published(artifact, f"sha256:{digest}", source) for artifact, digest, source in _ROWS
}
"""By registry, path and tag."""

_UNKNOWN = "no public source names the digest of this version"
BY_TAG: Mapping[str, str] = {
    "nvcr.io/nvidia/driver": (
        "each operating system has its own image, and the GPU Operator appends its name to the tag"
    ),
    "nvcr.io/nvidia/cloud-native/gdrdrv": "each operating system has its own image, and the GPU "
    "Operator appends its name to the tag",
    "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin": (
        "AWS publishes no digest for it"
    ),
    "ghcr.io/jkroepke/kube-webhook-certgen": _UNKNOWN,
    "quay.io/prometheus/node-exporter": "public sources name one digest for two of its variants",
    "docker.io/pytorch/pytorch": "Kubeflow Trainer's runtimes name it by tag",
    "ghcr.io/kubeflow/trainer/deepspeed-runtime": "Kubeflow Trainer's runtimes name it by tag",
    "nvcr.io/nvidia/jax": "Kubeflow Trainer's runtimes name it by tag",
    **dict.fromkeys(
        (
            "docker.io/volcanosh/vc-scheduler",
            "docker.io/volcanosh/vc-controller-manager",
            "docker.io/volcanosh/vc-webhook-manager",
        ),
        "no public source names the digest of this version",
    ),
    "docker.io/grafana/grafana": "the chart of Grafana decides its version",
    "quay.io/kiwigrid/k8s-sidecar": "the chart of Grafana decides its version",
    "ghcr.io/kubeflow/trainer/trainer-controller-manager": _UNKNOWN,
    "registry.k8s.io/lws/lws": _UNKNOWN,
    "ghcr.io/kedacore/keda": _UNKNOWN,
    "ghcr.io/kedacore/keda-metrics-apiserver": _UNKNOWN,
    "ghcr.io/kedacore/keda-admission-webhooks": _UNKNOWN,
    "ghcr.io/tektoncd/operator/operator-303303c315a48490ba6517859ef65b77": _UNKNOWN,
    "ghcr.io/tektoncd/operator/webhook-f2bb711aa8f0c0892856a4cbf6d9ddd8": _UNKNOWN,
    "ghcr.io/tektoncd/operator/proxy-webhook-f6167da7bc41b96a27c5529f850e63d1": _UNKNOWN,
    "docker.io/kserve/kserve-controller": _UNKNOWN,
    "docker.io/kserve/agent": _UNKNOWN,
    "docker.io/kserve/router": _UNKNOWN,
    "docker.io/kserve/storage-initializer": _UNKNOWN,
    "quay.io/brancz/kube-rbac-proxy": _UNKNOWN,
}
"""Images without a known digest, with the reason."""


def digest_of(repository: str, tag: str) -> str:
    """The digest of a tag; empty if no source was found."""
    result = PUBLISHED.get(f"{repository}:{tag}")
    return result.digest if result is not None else ""


def pinned_image_reference(repository: str, tag: str) -> str:
    """The image with its tag and, if known, its digest, which takes precedence."""
    digest = digest_of(repository, tag)
    return f"{tag}@{digest}" if digest else tag
