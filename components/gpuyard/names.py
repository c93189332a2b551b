"""Every string that two parts of a platform must agree on, once.

Labels, taints, resource names, namespaces and object names are made here and nowhere else.
"""

from collections.abc import Mapping

POOL_LABEL = "gpuyard.dev/pool"
"""On every node of a pool; flavors select by it."""
PLATFORM_LABEL = "gpuyard.dev/platform"
"""On every object a platform owns; nothing without it is ever touched."""
TEAM_LABEL = "gpuyard.dev/team"
"""On the namespaces of a team, its first name; its queue admits only from there."""
ISOLATION_LABEL = "gpuyard.dev/isolation"
"""On the namespace of a team: the least that must separate its pods from other teams'."""
TEAM_PRIORITY_LABEL = "gpuyard.dev/priority"
"""On the namespace of a team: the priority of its jobs that name none."""
ADMISSION_ANNOTATIONS = "admission.gpuyard.dev/"
"""Beginning of the annotations, on a team's namespace, of what its pods are held to."""
BUDGET_ANNOTATION = "gpuyard.dev/budget-usd-per-month"
"""On the namespace of a team: its budget in US dollars, for reports that read the cluster."""
PROTECT_ANNOTATION = "gpuyard.dev/protect"
"""On a team's namespace and its claims of a class: `true` where the engine deletes neither."""
EXISTING_ANNOTATION = "gpuyard.dev/existing"
DEFERRED_ANNOTATION = "gpuyard.dev/deferred"
"""On the Job of a check: why it was ended without a verdict."""
ATTEMPT_ANNOTATION = "gpuyard.dev/attempt"
"""On the pods of a check: how often it was deferred before."""
"""On the namespace of a team: `true` where somebody else made it; it is never deleted by us."""
CLASS_LABEL = "gpuyard.dev/class"
"""On a workload: what kind of work it is, said by whoever wrote it."""
STOP_TAINT = "gpuyard.dev/stop"
"""On the flavor of a stopped pool, and on none of its nodes: queues pass over a flavor whose taint a pod does
not tolerate."""
KEEP_IDLE_LABEL = "gpuyard.dev/keep-idle"
"""On a job, a notebook or a namespace: `true` leaves it alone however idle it is."""
OFFERING_TAG = "gpuyard.dev/offering"
"""On a capacity block that a platform bought: its offer, by which it is found before it is bought again."""
IDLE_WARNED, IDLE_SUSPENDED = "gpuyard.dev/idle-warned", "gpuyard.dev/idle-suspended"
"""Annotations: since when a warning stands, and when something was suspended."""
IDLE_REPLICAS = "gpuyard.dev/idle-replicas"
"""Annotation: how many replicas something had before it was suspended."""
DATA_ACCOUNT = "gpuyard-data"
"""In the namespaces of a team: the service account whose pods may ask a cloud for the team's buckets."""
NCCL_SCRIPT = "GPUYARD_NCCL_SCRIPT"
"""A variable of `nccl_name`: the file that the container sources before NCCL starts."""
CHECKPOINTS = "checkpoints"
"""In the namespaces of a team: the ConfigMap that says where its checkpoints are kept."""
SYSTEM_POOL = "system"
KUBE_SYSTEM = "kube-system"
AUTOSCALER_ACCOUNT = "cluster-autoscaler"
"""In KUBE_SYSTEM: whose pods may change node groups."""
KARPENTER = "karpenter"
"""In KUBE_SYSTEM: whose pods make and end nodes, and the release of its chart."""
KARPENTER_CRDS = "karpenter-crd"

SIMULATED_CONTEXT = "gpuyard-simulated"
"""In the kubeconfig of every simulated cluster: the context that `cloud: simulated` deploys to."""
FABRIC_LABEL = "gpuyard.dev/fabric"
"""On nodes with a network between their GPUs: efa, gpudirect-rdma, infiniband or another such name."""
NVLINK_LABEL, NVLINK_GPUS_LABEL = "gpuyard.dev/nvlink", "gpuyard.dev/nvlink-gpus"
"""On nodes with NVLink between GPUs: its generation, and the GPUs of one NVLink domain."""

GPUYARD_DOMAIN = "gpuyard.dev"
RESERVED_LABEL_DOMAINS = (GPUYARD_DOMAIN, "kubernetes.io", "k8s.io", "nvidia.com", "karpenter.sh")
CLOUD_LABEL_DOMAINS: Mapping[str, tuple[str, ...]] = {
    "aws": ("eks.amazonaws.com",),
    "gcp": ("cloud.google.com",),
}
"""By cloud, what its node groups refuse beside (kubernetes/cloud-provider-aws#242; magic-modules#11878)."""

GPU = "nvidia.com/gpu"
GPU_SHARED = "nvidia.com/gpu.shared"
GPU_CLAIM = "gpuyard.dev/gpu-claim"
"""What queues count GPUs by that pods claim: nodes advertise no such resource, Kueue maps claims to it."""
MIG_PREFIX = "nvidia.com/mig-"
MIG_SLICES = "gpuyard.dev/mig-slices"
"""What queues count compute slices by. No node advertises it: Kueue makes it of what pods ask for."""
GKE_NETWORKING_GROUP = "networking.gke.io"
EFA = "vpc.amazonaws.com/efa"
"""What the EFA device plugin advertises: a network adapter that bypasses TCP."""
RDMA = "rdma/hca"
"""What the RDMA device plugin of ours advertises on nodes of your own: the adapters of a fabric, shared."""
GPU_TAINT_VALUE = "present"
"""The value GKE puts on its own GPU nodes; the device plugin and the operator tolerate the key."""

MIG_CONFIG_LABEL = "nvidia.com/mig.config"
MIG_STATE_LABEL = "nvidia.com/mig.config.state"
"""What the MIG manager says of itself: pending, rebooting, success, failed."""
MIG_OFF = "all-disabled"
"""The layout that the operator gives a node without a label of ours: no GPU is cut."""
EVICTED_LABEL = "gpuyard.dev/put-out"
"""On a workload, while the GPUs that it ran on are cut anew."""
PLUGIN_CONFIG_LABEL = "nvidia.com/device-plugin.config"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
ZONE_LABEL = "topology.kubernetes.io/zone"
HOSTNAME_LABEL = "kubernetes.io/hostname"
ARCH_LABEL = "kubernetes.io/arch"
OS_LABEL = "kubernetes.io/os"
COUNT_LABEL = "nvidia.com/gpu.count"
DRIVER_VERSION_LABEL = "nvidia.com/cuda.driver-version.full"
"""GPU Feature Discovery writes both once the driver answers."""
UPGRADE_LABEL = "nvidia.com/gpu-driver-upgrade-state"
"""How far the operator is with another driver of a node."""
SKIP_UPGRADE_LABEL = "nvidia.com/gpu-driver-upgrade.skip"
"""`true`: the operator begins no other driver there (NVIDIA/k8s-operator-libs, pkg/upgrade/consts.go)."""
DRIVER_WAITS_LABEL = "gpuyard.dev/driver-waits"
"""Beside it, with the platform's name, where we have put it: what a hand has put there stays."""
CLIQUE_LABEL = "nvidia.com/gpu.clique"
"""On nodes of one NVLink domain; GPU Feature Discovery writes it."""
DEVICE_PLUGIN_LABEL = "nvidia.com/gpu.deploy.device-plugin"
OPERANDS_LABEL = "nvidia.com/gpu.deploy.operands"
GPU_PRESENT_LABEL = "nvidia.com/gpu.present"
"""The operator starts its device plugin on nodes unless this says false."""
POD_SECURITY_LABEL = "pod-security.kubernetes.io/enforce"
"""The level that pods of a namespace are held to; beside it what is only warned of, and written down."""
POD_SECURITY_WARN_LABEL = "pod-security.kubernetes.io/warn"
POD_SECURITY_AUDIT_LABEL = "pod-security.kubernetes.io/audit"
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""On every namespace: its own name; the API server writes it, and nobody can change it."""
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"

GPU_OPERATOR_NAMESPACE = "gpu-operator"
OPERATOR_QUOTA = "gpuyard-critical-pods"
"""In the operator's namespace on GKE: what lets pods of critical priority in."""
AUTOSCALER_RELEASE = "gpuyard-cluster-autoscaler-release"
KARPENTER_RELEASE = "gpuyard-{}-release"
"""Of both charts of Karpenter, with the name of each."""
OPERATOR_RELEASE = "gpuyard-gpu-operator-release"
DRA_DRIVER_RELEASE = "gpuyard-dra-driver-release"
"""The operator's chart and its values as an object, where objects become files."""
KUEUE = "kueue"
"""The release of Kueue's chart, and the beginning of what the chart names."""
KUEUE_NAMESPACE = "kueue-system"
KUEUE_GROUP = "kueue.x-k8s.io"
KUEUE_API = f"{KUEUE_GROUP}/v1beta2"
MIG_CONFIGMAP = "gpuyard-mig-parted"
PLUGIN_CONFIGMAP = "gpuyard-device-plugin"
PLATFORM_CONFIGMAP = "gpuyard-platform"
REPORT_CONFIGMAP = "gpuyard-report"
"""What the last whole deployment made, for the next one to be compared with."""
IDLE = "gpuyard-idle"
"""The program that suspends what is idle: its account, role and schedule."""
IDLE_PROGRAM, IDLE_SETTINGS = "gpuyard-idle-program", "gpuyard-idle-settings"
"""Its source and what it is told, as ConfigMaps."""
CHECKS_LABEL = "gpuyard.dev/checks"
"""On pods that check nodes: for which Job, so that no two of one are on the same node."""
GATE_TAINT = "startup-taint.cluster-autoscaler.kubernetes.io/gpuyard-check"
"""Nodes start with it and lose it when their check has passed. By its beginning Cluster Autoscaler knows that
it goes, and counts on the node for pods that do not bear it (its FAQ, startup taints)."""
GATE_VALUE = "unchecked"
CHECKED_LABEL, CHECK_RESULT_LABEL = "gpuyard.dev/checked", "gpuyard.dev/check"
"""On nodes: by what they were checked, as a digest; `passed`, or the check that failed."""
CHECK_SAYS, CHECK_BOOT, CHECK_CLOSED, CHECK_AGAIN = (
    f"gpuyard.dev/check-{word}" for word in ("says", "boot", "closed", "again")
)
"""Annotations of nodes: what the check said, of which start of the machine, that it was closed, and by which
Job it was last sent to be checked again."""
KEEPS_LABEL = "gpuyard.dev/keeps"
"""On pods that keep nodes: of which pool, so that no two of one set are on the same node."""
INTERRUPTED_LABEL = "gpuyard.dev/interrupted"
"""On a workload that was stopped because one of its nodes goes, until it queues again."""
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
"""On every pod of a Job: its name."""
MULTIKUEUE_SECRET_KEY = "kubeconfig"  # noqa: S105  a key, not a secret
"""Where Kueue looks in a secret that leads to another cluster."""
KUEUE_CONFIGMAP = "kueue-manager-config"
KUEUE_CONFIG_KEY = "controller_manager_config.yaml"
KUEUE_WEBHOOKS = "kueue-webhook-service"
KUEUE_CERTIFICATES = "kueue-webhook-server-cert"
"""Names that Kueue's own chart gives to its configuration, its webhooks' service and their secret."""
KUEUE_RELEASE = "gpuyard-kueue-release"
"""Kueue's chart and its values as an object, where objects become files."""
KUEUE_ANSWERS = "gpuyard-kueue-answers"
"""A service of ours: a deployment waits for its pods before it makes queues."""
CLUSTER_POLICY = "cluster-policy"
"""The operator accepts one ClusterPolicy, of this name."""

GPU_CLUSTER = "gpu-cluster"
"""The same of a GPUCluster, which stands in its place where pods claim GPUs."""
COMPUTE_DOMAINS_GROUP = "resource.nvidia.com"
CHANNEL_SUFFIX = "-channel"
"""After the name of a ComputeDomain: the template of its channels, which the DRA driver makes."""

LOCAL_QUEUE = "default"
"""Kueue gives jobs without a queue label to the namespace's LocalQueue of this name."""

WORK_LABEL = "gpuyard.dev/work"
"""On pods that put GPUs to work: whose queue let them begin. Who has it is reached by the others."""
TOKEN_OF = "kubernetes.io/service-account.name"  # noqa: S105  no password
"""On a Secret: of which account the cluster writes a token into it."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
QUEUE_GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate by which Kueue holds a pod until its workload may start."""
WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
"""On every pod that Kueue starts: its workload (Kueue v0.19, with topology-aware scheduling, its default)."""
JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
"""On a Workload: the uid of the Job that it was made for."""
PODSET_LABEL = "kueue.x-k8s.io/podset"
"""The same: which part of the workload it is."""
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
POD_GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"


SLICES_UNIT = "slices"
"""What a stack file calls compute slices of any profile: `serve/slices`."""
MOST_SHARES = 1
"""What one container gets of a shared resource: more would be turns on the same GPU, not more of it. Device
plugins are told to refuse it, and refuse it under MPS in any case."""
SHARED_UNIT = "shared"
"""What a stack file calls a share of a whole GPU: `dev/shared`."""


def shared(resource: str) -> str:
    """What the device plugin advertises for a time-sliced or MPS-shared resource (renameByDefault)."""
    return f"{resource}.shared"


def is_shared(resource: str) -> bool:
    """Whether a resource is of shares: of whole GPUs, or of slices."""
    return resource.startswith("nvidia.com/") and resource.endswith(".shared")


def admission_name(platform: str) -> str:
    """The policy of a platform, and what binds its teams' namespaces to it."""
    return f"gpuyard-{platform}"


def belongings_name(platform: str) -> str:
    """The same of what teams make beside pods."""
    return f"{admission_name(platform)}-belongings"


def departures_name(platform: str) -> str:
    """The same of what teams delete."""
    return f"{admission_name(platform)}-departures"


def growth_name(platform: str) -> str:
    """The same of what teams scale."""
    return f"{admission_name(platform)}-growth"


def reservations_name(platform: str) -> str:
    """The same of what Kueue admits for teams."""
    return f"{admission_name(platform)}-reservations"


def catalogue_name(platform: str) -> str:
    """The role by which people of a platform's teams see classes that belong to nobody, and who has it."""
    return f"gpuyard-{platform}-classes"


def system_namespace(platform: str) -> str:
    """What is the platform's own and no team's; several platforms in a cluster have one each."""
    return f"gpuyard-{platform}"


def validator_name(platform: str) -> str:
    """Beside the GPU Operator: the account of the pods that check nodes, and their program."""
    return f"gpuyard-{platform}-validator"


def cluster_queue_name(platform: str, team: str) -> str:
    """The ClusterQueue of a team, by the name that the team had first."""
    return f"{platform}-{team}"


def work_name(platform: str) -> str:
    """The queue and the priority of the check that puts GPUs to work, its account and its token."""
    return f"gpuyard-{platform}-work"


def shares_name(platform: str) -> str:
    """The account of pods that try shares: it may look at the Jobs that they are of."""
    return f"gpuyard-{platform}-shares"


def volumes_name(platform: str) -> str:
    """What pods that read volumes are known by."""
    return f"gpuyard-{platform}-volumes"


def gate_name(platform: str) -> str:
    """Beside the GPU Operator: the program that opens nodes, its account, and the policy that holds it."""
    return f"gpuyard-{platform}-gate"


def adapters_name(platform: str, fabric: str) -> str:
    """Beside the GPU Operator: the pods that hand out the adapters of a fabric."""
    return f"gpuyard-{platform}-{fabric}"


def prepull_name(platform: str) -> str:
    """The pods that pull images before others need them."""
    return f"gpuyard-{platform}-prepull"


def again_name(platform: str) -> str:
    """Beside it: the CronJob that sends nodes to be checked again, its account, and the account's policy."""
    return f"gpuyard-{platform}-again"


def requeue_name(platform: str) -> str:
    """The program that queues gangs again whose nodes go, its account, and the policy that holds it."""
    return f"gpuyard-{platform}-requeue"


def spared_name(platform: str) -> str:
    """The policy by which a pod that ends with its node is no failure of its job."""
    return f"gpuyard-{platform}-spared"


def node_name(pool: str, index: int) -> str:
    """Simulated nodes: the pool and a number that keeps its width up to a thousand nodes."""
    return f"{pool}-{index:03d}"


def nccl_name(pool: str) -> str:
    """In the namespaces of a team: the ConfigMap with NCCL's variables for a pool."""
    return f"nccl-{pool}"
