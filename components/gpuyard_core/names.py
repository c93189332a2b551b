"""Names that several parts of a platform share: labels, taints, resources, namespaces, objects.

They are defined here and nowhere else.
"""

POOL_LABEL = "gpuyard.dev/pool"
"""On every node of a pool; flavors select nodes by it."""
PLATFORM_LABEL = "gpuyard.dev/platform"
"""On every object of a platform; gpuyard never changes objects without it."""
TEAM_LABEL = "gpuyard.dev/team"
"""On a team's namespaces: its first name; its queue admits only jobs from there."""
ISOLATION_LABEL = "gpuyard.dev/isolation"
"""On a team's namespaces: the minimum isolation of its pods."""
TEAM_PRIORITY_LABEL = "gpuyard.dev/priority"
"""On a team's namespaces: the priority of jobs that set none."""
ADMISSION_ANNOTATIONS = "admission.gpuyard.dev/"
"""Prefix of the annotations on a team's namespaces with its admission requirements."""
BUDGET_ANNOTATION = "gpuyard.dev/budget-usd-per-month"
"""On a team's namespaces: its budget in US dollars, for reports that read the cluster."""
PROTECT_ANNOTATION = "gpuyard.dev/protect"
"""On a team's namespaces and PersistentVolumeClaims of kind class: `true` if Pulumi must not delete them."""
EXISTING_ANNOTATION = "gpuyard.dev/existing"
"""On a team's namespaces: `true` if gpuyard did not create it and never deletes it."""
DEFERRED_ANNOTATION = "gpuyard.dev/deferred"
"""On a validation Job: why it ended without a verdict."""
ATTEMPT_ANNOTATION = "gpuyard.dev/attempt"
"""On validation pods: how often the validation was deferred before."""
MONITORING_NAMESPACE = "monitoring"
GMP_NAMESPACE, GMP_COLLECTOR = "gmp-system", "collector"
"""Where the collectors of Google Cloud Managed Service for Prometheus run, and their service account."""
"""The namespace of the installed Prometheus."""
COUNTERS_CONFIGMAP = "gpuyard-dcgm-counters"
"""In the namespace of the GPU Operator: the list of counters of the DCGM exporter."""
CLASS_LABEL = "gpuyard.dev/class"
"""On a workload: its workload class, set by its author or else by the admission policy of classes."""
UNLABELLED_CLASS = "none"
"""In recording rules: the class of pods without the label."""
CLASS_OF_POD = "gpuyard.dev/class-of-pod"
"""Annotation: `true` on a pod, or a template, of a controller whose class gpuyard inferred from it; the class is only
for reports."""
STOP_TAINT = "gpuyard.dev/stop"
"""On the flavor of a stopped pool, not on its nodes: Kueue skips a flavor whose taint a pod does not
tolerate."""
KEEP_IDLE_LABEL = "gpuyard.dev/keep-idle"
"""On a job, notebook or namespace: `true` exempts it from idle suspension."""
OFFERING_TAG = "gpuyard.dev/offering"
"""On a purchased capacity block: its offer id, which prevents a second purchase."""
IDLE_WARNED, IDLE_SUSPENDED = "gpuyard.dev/idle-warned", "gpuyard.dev/idle-suspended"
"""Annotations: since when a warning is set, and when a workload was suspended."""
IDLE_REPLICAS = "gpuyard.dev/idle-replicas"
"""Annotation: the number of replicas before the suspension."""
DATA_ACCOUNT = "gpuyard-data"
"""In a team's namespaces: the service account whose pods may access the team's buckets."""
NCCL_SCRIPT = "GPUYARD_NCCL_SCRIPT"
"""Key of the ConfigMap `nccl_name`: the file that a container sources before NCCL starts."""
CHECKPOINTS = "checkpoints"
"""In a team's namespaces: the ConfigMap with the location of its checkpoints."""
SYSTEM_POOL = "system"
KUBE_SYSTEM = "kube-system"
AUTOSCALER_ACCOUNT = "cluster-autoscaler"
"""In KUBE_SYSTEM: the service account whose pods may change node groups."""
KARPENTER = "karpenter"
"""In KUBE_SYSTEM: the service account whose pods create and delete nodes, and the Helm release."""

SIMULATED_CONTEXT = "gpuyard-simulated"
"""Kubeconfig context of every simulated cluster, to which `cloud: simulated` deploys."""
FABRIC_LABEL = "gpuyard.dev/fabric"
"""On nodes with a fabric: efa, gpudirect-rdma, infiniband or another name."""
NVLINK_LABEL, NVLINK_GPUS_LABEL = "gpuyard.dev/nvlink", "gpuyard.dev/nvlink-gpus"
"""On nodes with NVLink: its generation, and the number of GPUs in one NVLink domain."""

GPUYARD_DOMAIN = "gpuyard.dev"
RESERVED_LABEL_DOMAINS = (GPUYARD_DOMAIN, "kubernetes.io", "k8s.io", "nvidia.com", "karpenter.sh")
GPU = "nvidia.com/gpu"
GPU_SHARED = "nvidia.com/gpu.shared"
GPU_CLAIM = "gpuyard.dev/gpu-claim"
"""Resource by which queues count claimed GPUs (DRA); no node advertises it, Kueue maps claims to it."""
MIG_PREFIX = "nvidia.com/mig-"
MIG_SLICES = "gpuyard.dev/mig-slices"
"""Resource by which queues count compute slices; no node advertises it, Kueue derives it from pod requests."""
GKE_NETWORKING_GROUP = "networking.gke.io"
EFA = "vpc.amazonaws.com/efa"
"""Resource of the EFA device plugin: a network adapter that bypasses TCP."""
HUGE_PAGES = "hugepages-2Mi"
"""Resource of a node with huge pages of 2 MiB, such as those that the EFA driver reserves."""
RDMA = "rdma/hca"
"""Resource of the RDMA device plugin that gpuyard installs on nodes of your own: the shared adapters of a fabric."""
GPU_TAINT_VALUE = "present"
"""The value that GKE sets on its GPU nodes; device plugin and operator tolerate the key."""

MIG_CONFIG_LABEL = "nvidia.com/mig.config"
MIG_STATE_LABEL = "nvidia.com/mig.config.state"
"""State of the MIG manager: pending, rebooting, success, failed."""
MIG_OFF = "all-disabled"
"""The operator's layout for nodes without a label: no GPU is partitioned."""
EVICTED_LABEL = "gpuyard.dev/put-out"
"""On a workload while the GPUs that it ran on are repartitioned."""
PLUGIN_CONFIG_LABEL = "nvidia.com/device-plugin.config"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
ZONE_LABEL = "topology.kubernetes.io/zone"
HOSTNAME_LABEL = "kubernetes.io/hostname"
ARCH_LABEL = "kubernetes.io/arch"
OS_LABEL = "kubernetes.io/os"
COUNT_LABEL = "nvidia.com/gpu.count"
DRIVER_VERSION_LABEL = "nvidia.com/cuda.driver-version.full"
"""GPU Feature Discovery sets both labels once the driver responds."""
UPGRADE_LABEL = "nvidia.com/gpu-driver-upgrade-state"
"""State of the operator's driver upgrade of a node."""
SKIP_UPGRADE_LABEL = "nvidia.com/gpu-driver-upgrade.skip"
"""`true`: the operator starts no driver upgrade (NVIDIA/k8s-operator-libs, pkg/upgrade/consts.go)."""
DRIVER_WAITS_LABEL = "gpuyard.dev/driver-waits"
"""The platform's name, if gpuyard set SKIP_UPGRADE_LABEL; one that you set stays."""
CLIQUE_LABEL = "nvidia.com/gpu.clique"
"""On nodes of one NVLink domain; set by GPU Feature Discovery."""
DEVICE_PLUGIN_LABEL = "nvidia.com/gpu.deploy.device-plugin"
OPERANDS_LABEL = "nvidia.com/gpu.deploy.operands"
GPU_PRESENT_LABEL = "nvidia.com/gpu.present"
"""The operator runs its device plugin on a node unless this is false."""
POD_SECURITY_LABEL = "pod-security.kubernetes.io/enforce"
"""The enforced Pod Security level of a namespace; the next two are the warn and audit levels."""
POD_SECURITY_WARN_LABEL = "pod-security.kubernetes.io/warn"
POD_SECURITY_AUDIT_LABEL = "pod-security.kubernetes.io/audit"
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""On every namespace: its own name, set by the API server and immutable."""
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"

ARGO_CD_NAMESPACE = "argocd"
DEPLOY_ACCOUNT = "gpuyard-deploy"
"""In a team's namespaces: the service account with which pipelines and Argo CD create what members may create."""
KEDA_NAMESPACE, KEDA_ACCOUNT = "keda", "keda-operator"
"""Where KEDA runs, and the service account whose pods query the sources of its scalers."""
REMOTE_WRITE, REMOTE_REGION, QUERY_URL = "metrics.url", "metrics.region", "metrics.query_url"
"""Late values of a managed Prometheus: where to send samples, its region, and where to send queries."""
GPU_OPERATOR_NAMESPACE = "gpu-operator"
OPERATOR_QUOTA = "gpuyard-critical-pods"
"""In the operator's namespace on GKE: the ResourceQuota that admits pods of critical priority."""
VOLCANO, VOLCANO_NAMESPACE = "volcano", "volcano-system"
"""The Helm release of Volcano and the name of its scheduler, and the namespace in which it runs."""
VOLCANO_GROUP = "scheduling.volcano.sh"
VOLCANO_QUEUE = f"{VOLCANO_GROUP}/queue-name"
"""Annotation on a pod: its queue of Volcano."""
KUEUE = "kueue"
"""The release of Kueue's chart, and the prefix of its object names."""
KUEUE_NAMESPACE = "kueue-system"
KUEUE_GROUP = "kueue.x-k8s.io"
MONITORING_GROUP = "monitoring.coreos.com"
"""The API group of prometheus-operator."""
KUEUE_API = f"{KUEUE_GROUP}/v1beta2"
MIG_CONFIGMAP = "gpuyard-mig-parted"
PLUGIN_CONFIGMAP = "gpuyard-device-plugin"
PLATFORM_CONFIGMAP = "gpuyard-platform"
REPORT_CONFIGMAP = "gpuyard-report"
"""The report of the last complete deployment, with which the next one is compared."""
IDLE = "gpuyard-idle"
"""The program that suspends idle workloads: its service account, role and CronJob."""
IDLE_PROGRAM, IDLE_SETTINGS = "gpuyard-idle-program", "gpuyard-idle-settings"
"""Its source and its settings, as ConfigMaps."""
CHECKS_LABEL = "gpuyard.dev/checks"
"""On validation pods: their Job, so that no two pods of one Job run on the same node."""
GATE_TAINT = "startup-taint.cluster-autoscaler.kubernetes.io/gpuyard-check"
"""Nodes start with it and lose it once their validation has passed. By its prefix Cluster Autoscaler treats
it as temporary and counts the node for pods that do not tolerate it (its FAQ, startup taints)."""
GATE_VALUE = "unchecked"
CHECKED_LABEL, CHECK_RESULT_LABEL = "gpuyard.dev/checked", "gpuyard.dev/check"
"""On nodes: the digest of the validation; its result, `passed` or the failed check."""
CHECK_SAYS, CHECK_BOOT, CHECK_CLOSED, CHECK_AGAIN = (
    f"gpuyard.dev/check-{word}" for word in ("says", "boot", "closed", "again")
)
"""Node annotations: the validation result, the boot it belongs to, that the node was cordoned, and the Job
that last requested another validation."""
KEEPS_LABEL = "gpuyard.dev/keeps"
"""On keep-warm pods: their pool, so that no two pods of one set run on the same node."""
INTERRUPTED_LABEL = "gpuyard.dev/interrupted"
"""On a workload that was stopped by an interruption notice, until it is requeued."""
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
"""On every pod of a Job: the Job's name."""
MULTIKUEUE_SECRET_KEY = "kubeconfig"  # noqa: S105  a key, not a secret
"""The key of a worker cluster's Secret that Kueue reads."""
KUEUE_CONFIGMAP = "kueue-manager-config"
KUEUE_CONFIG_KEY = "controller_manager_config.yaml"
KUEUE_WEBHOOKS = "kueue-webhook-service"
KUEUE_CERTIFICATES = "kueue-webhook-server-cert"
"""Names from Kueue's chart: its configuration, its webhook Service and the webhook Secret."""
KUEUE_ANSWERS = "gpuyard-kueue-answers"
"""A Service of gpuyard: a deployment waits for its pods before it creates queues."""
CLUSTER_POLICY = "cluster-policy"
"""The operator accepts a single ClusterPolicy, of this name."""

GPU_CLUSTER = "gpu-cluster"
"""The name of the GPUCluster, which replaces the ClusterPolicy with DRA."""
COMPUTE_DOMAINS_GROUP = "resource.nvidia.com"
CHANNEL_SUFFIX = "-channel"
"""Suffix of a ComputeDomain's name: the channel ResourceClaimTemplate, which the DRA driver creates."""

LOCAL_QUEUE = "default"
"""Kueue assigns jobs without a queue label to the namespace's LocalQueue of this name."""

WORK_LABEL = "gpuyard.dev/work"
"""On validation pods that run load: the queue that admitted them. Pods with it may reach each other."""
TOKEN_OF = "kubernetes.io/service-account.name"  # noqa: S105  no password
"""On a Secret: the service account whose token Kubernetes writes into it."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
QUEUE_GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate with which Kueue holds a pod until its workload is admitted."""
WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
"""On every pod that Kueue starts: its workload (Kueue v0.19, with topology-aware scheduling, its default)."""
JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
"""On a Workload: the uid of its Job."""
PODSET_LABEL = "kueue.x-k8s.io/podset"
"""On every pod that Kueue starts: its pod set in the workload."""
ELASTIC_ANNOTATION = "kueue.x-k8s.io/elastic-job"
"""On a workload: `true` if Kueue counts it again when it grows."""
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
POD_GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"


SERVICE_LABEL = "gpuyard.dev/service"
"""On the pods of an inference service: the name of the object that they are replicas of."""

SLICES_UNIT = "slices"
"""Unit of a stack file for compute slices of any profile: `serve/slices`."""
MOST_SHARES = 1
"""Maximum shares per container: more would be time slices of the same GPU, not more of it. Device plugins
are configured to reject more, and always do under MPS."""
SHARED_UNIT = "shared"
"""Unit of a stack file for a share of a whole GPU: `dev/shared`."""


def shared_resource_name(resource: str) -> str:
    """The resource name that the device plugin advertises for shares (renameByDefault)."""
    return f"{resource}.shared"


def is_shared(resource: str) -> bool:
    """Whether a resource counts shares of whole GPUs or of slices."""
    return resource.startswith("nvidia.com/") and resource.endswith(".shared")


def admission_name(platform: str) -> str:
    """The admission policy of a platform, and its binding to the teams' namespaces."""
    return f"gpuyard-{platform}"


def other_objects_policy_name(platform: str) -> str:
    """The admission policy on objects other than pods that teams create."""
    return f"{admission_name(platform)}-belongings"


def deletion_policy_name(platform: str) -> str:
    """The admission policy on what teams delete."""
    return f"{admission_name(platform)}-departures"


def scaling_policy_name(platform: str) -> str:
    """The admission policy on what teams scale."""
    return f"{admission_name(platform)}-growth"


def kueue_admission_policy_name(platform: str) -> str:
    """The admission policy on what Kueue admits for teams."""
    return f"{admission_name(platform)}-reservations"


def classes_policy_name(platform: str) -> str:
    """The admission policy that labels workloads of teams with their class."""
    return f"{admission_name(platform)}-workload-classes"


def volcano_policy_name(platform: str) -> str:
    """The admission policies on pods with GPUs of teams, and on objects that name a queue of Volcano."""
    return f"{admission_name(platform)}-volcano"


def class_reader_role_name(platform: str) -> str:
    """The ClusterRole with which teams read cluster-scoped classes, and its binding."""
    return f"gpuyard-{platform}-classes"


def system_namespace(platform: str) -> str:
    """The namespace of the platform's own objects; one for each platform in a cluster."""
    return f"gpuyard-{platform}"


def validator_name(platform: str) -> str:
    """In the operator's namespace: the service account of validation pods, and their program."""
    return f"gpuyard-{platform}-validator"


def cluster_queue_name(platform: str, team: str) -> str:
    """The ClusterQueue of a team, named after the team's first name."""
    return f"{platform}-{team}"


def services_priority(platform: str) -> str:
    """The priority of inference services that name none."""
    return f"{platform}-services"


def load_validation_name(platform: str) -> str:
    """The queue, priority, service account and token of validation that runs load on GPUs."""
    return f"gpuyard-{platform}-work"


def share_validation_name(platform: str) -> str:
    """The service account of pods that test shares; it may read their Jobs."""
    return f"gpuyard-{platform}-shares"


def volume_validation_name(platform: str) -> str:
    """Name and label of pods that read volumes."""
    return f"gpuyard-{platform}-volumes"


def gate_name(platform: str) -> str:
    """In the operator's namespace: the gate agent, its service account, and the policy that restricts it."""
    return f"gpuyard-{platform}-gate"


def fabric_plugin_name(platform: str, fabric: str) -> str:
    """In the operator's namespace: the device plugin pods for the adapters of a fabric."""
    return f"gpuyard-{platform}-{fabric}"


def prepull_name(platform: str) -> str:
    """The pods that pull images in advance."""
    return f"gpuyard-{platform}-prepull"


def recurring_validation_name(platform: str) -> str:
    """In the operator's namespace: the CronJob for recurring validation, its service account and policy."""
    return f"gpuyard-{platform}-again"


def requeue_name(platform: str) -> str:
    """The requeue agent for gangs on interrupted nodes, its service account, and the policy that restricts it."""
    return f"gpuyard-{platform}-requeue"


def pod_failure_policy_name(platform: str) -> str:
    """The policy by which a pod that ends with its node does not count as a failure of its job."""
    return f"gpuyard-{platform}-spared"


def simulated_node_name(pool: str, index: int) -> str:
    """Name of a simulated node: the pool and a number with at least three digits."""
    return f"{pool}-{index:03d}"


def nccl_name(pool: str) -> str:
    """In a team's namespaces: the ConfigMap with NCCL's variables for a pool."""
    return f"nccl-{pool}"
