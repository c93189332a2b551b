"""What older guides tell people to write is found, or it says here why no file shows it.

Rows are named by guide and line, as the list of their errors has them: X fails or does nothing, W is
a wrong fact, O is outdated. `GUIDES` has the lines as a guide has them and the rules that speak up;
`RIGHT` the right forms, on which none of those rules may say a word; `NO_FILE` what no file shows.
"""

import textwrap

from gpuyard_core.findings import Severity
from gpuyard_lint.read import read
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import FindingState, evaluate
from kit.every import every

GUIDES = {
    "002:45-46 X": (
        {"GPU-CFG-02"},
        """
        toolkit: {enabled: true, version: 1.17.4}
        operator: {defaultRuntime: containerd}
        devicePlugin: {enabled: true}
        """,
    ),
    "002:56-60 X": (
        {"GPU-CFG-05"},
        """
        apiVersion: kubelet.config.k8s.io/v1beta1
        kind: KubeletConfiguration
        topologyManagerPolicy: single-numa-node
        ---
        apiVersion: nvidia.com/v1
        kind: ClusterPolicy
        metadata: {name: cluster-policy}
        spec: {mig: {strategy: none}}
        """,
    ),
    "002:63-67 W": (
        {"GPU-POD-05"},
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: nccl}
        spec:
          nodeSelector: {gpu.nvidia.com/nvlink-domain: a}
          containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8}}}]
        """,
    ),
    "002:90-145 O": (
        {"GPU-OLD-01", "GPU-TEN-04"},
        """
        apiVersion: kueue.x-k8s.io/v1beta1
        kind: ResourceFlavor
        metadata: {name: h100}
        ---
        apiVersion: kueue.x-k8s.io/v1beta1
        kind: ClusterQueue
        metadata: {name: cq}
        spec: {cohort: all}
        """,
    ),
    "002:103 X": (
        {"GPU-QUE-02"},
        """
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: ClusterQueue
        metadata: {name: cq}
        spec: {cohort: all, namespaceSelector: {matchLabels: {team: a}}}
        """,
    ),
    "002:98-118 X": (
        {"GPU-TEN-04"},
        """
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: ClusterQueue
        metadata: {name: cq}
        spec: {queueingStrategy: StrictFIFO}
        """,
    ),
    "002:128 W": (
        {"GPU-QUE-01"},
        """
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: LocalQueue
        metadata: {name: research, namespace: vision}
        spec: {clusterQueue: cq}
        ---
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train, namespace: vision}
        spec: {template: {spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8}}}]}}}
        """,
    ),
    "002:130-145, 776-790 X": (
        {"GPU-QUE-02"},
        """
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: WorkloadPriorityClass
        metadata: {name: high}
        spec: {value: 1000, description: production}
        """,
    ),
    "002:161-174, 181 X": (
        {"GPU-QUE-03"},
        """
        apiVersion: scheduling.volcano.sh/v1beta1
        kind: Queue
        metadata: {name: training}
        spec: {weight: 10, preemptable: true, preemptionPolicy: bestFit}
        """,
    ),
    "002:207-208, 1009-1010 X": (
        {"GPU-CFG-02"},
        """
        mig: {strategy: single, config: all-1g.10gb}
        migManager: {enabled: true, config: {default: all-1g.10gb}}
        """,
    ),
    "002:215-232 X": (
        {"GPU-SHR-03"},
        """
        apiVersion: v1
        kind: ResourceQuota
        metadata: {name: gpus, namespace: vision}
        spec: {hard: {requests.nvidia.com/mig-1g.10gb: 7}}
        ---
        mig: {strategy: single}
        migManager: {enabled: true}
        """,
    ),
    "002:241-247 X": (
        {"GPU-CFG-01"},
        """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: time-slicing}
        data:
          any: |
            version: v1
            sharing:
              timeSlicing:
                replicas: 4
        """,
    ),
    "002:256-259 X": (
        {"GPU-CFG-02"},
        """
        devicePlugin: {mps: {enabled: true, replicas: 4}}
        """,
    ),
    "002:271-287 X": (
        {"GPU-CFG-01"},
        """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: mig-time-slicing}
        data:
          any: |
            version: v1
            flags: {migStrategy: mixed}
            sharing: {timeSlicing: {renameByDefault: true}}
        ---
        devicePlugin: {enabled: true, config: {name: mig-time-slicing}}
        """,
    ),
    "002:348-353 X": (
        {"GPU-CFG-04"},
        """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: cluster-autoscaler-priority-expander, namespace: kube-system}
        data:
          priorities: |
            10:
              - .*on-demand.*
            50:
              - .*spot.*
        """,
    ),
    "002:357-415 X": (
        {"GPU-CFG-03"},
        """
        apiVersion: karpenter.sh/v1beta1
        kind: NodePool
        metadata: {name: gpu}
        spec:
          template: {spec: {nodeClassRef: {name: gpu}, requirements: []}}
          disruption: {consolidationPolicy: WhenUnderutilized, expireAfter: 720h}
        """,
    ),
    "002:420-430 X": (
        {"GPU-MET-01", "GPU-MET-04"},
        """
        rules:
          - seriesQuery: dcgm_gpu_utilization
            resources: {template: <<.Resource>>}
            metricsQuery: avg(<<.Series>>) by (<<.Resource>>)
        """,
    ),
    "002:441-448 X": (
        {"GPU-MET-01", "GPU-MET-02"},
        """
        groups:
          - name: chargeback
            rules:
              - record: team:gpu:hours
                expr: sum by (team) (dcgm_gpu_utilization * on (pod) group_left (team) kube_pod_labels)
        """,
    ),
    "002:501-505 W": (
        {"GPU-MET-04"},
        """
        apiVersion: keda.sh/v1alpha1
        kind: ScaledObject
        metadata: {name: worker}
        spec: {scaleTargetRef: {name: w}, triggers: [{type: aws-sqs-queue, metadata: {queueLength: "5"}}]}
        """,
    ),
    "002:586-655 O": (
        {"GPU-OLD-01"},
        """
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata: {name: train, namespace: vision}
        spec: {}
        """,
    ),
    "002:598-599 X": (
        {"GPU-QUE-01"},
        """
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata: {name: train, namespace: vision}
        spec:
          pytorchReplicaSpecs:
            Worker:
              template:
                metadata: {annotations: {kueue.x-k8s.io/queue-name: team-cq}}
                spec: {containers: [{name: a}]}
        """,
    ),
    "002:757 X": (
        {"GPU-MET-04"},
        """
        apiVersion: autoscaling.keda.sh/v1alpha1
        kind: ScaledObject
        metadata: {name: inference}
        spec: {}
        """,
    ),
    "002:805-818 X": (
        {"GPU-QUE-04"},
        """
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: WorkloadPriorityClass
        metadata: {name: high}
        value: 1000
        ---
        apiVersion: v1
        kind: ResourceQuota
        metadata: {name: high, namespace: vision}
        spec:
          hard: {requests.nvidia.com/gpu: 8}
          scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}
        """,
    ),
    "002:837-914 X": (
        {"GPU-MET-01"},
        """
        groups:
          - name: gpu
            rules:
              - {alert: A, expr: 'dcgm_gpu_utilization{pod="x"} < 5'}
              - {alert: B, expr: dcgm_fb_used + dcgm_fb_free < 1}
              - {alert: C, expr: dcgm_dram_active > 0.9 or dcgm_gpu_temp > 85}
              - {alert: D, expr: 'dcgm_power_usage > 700 or rate(dcgm_nvlink_bandwidth_total[5m]) > 1'}
        """,
    ),
    "002:841, 868 W": (
        {"GPU-MET-02"},
        """
        groups:
          - name: memory
            rules:
              - {alert: Full, expr: DCGM_FI_DEV_FB_USED / DCGM_FI_DEV_FB_FREE > 0.9}
              - {alert: Leak, expr: 'rate(DCGM_FI_DEV_FB_USED[1h]) > 0'}
        """,
    ),
    "002:910-914 X": (
        {"GPU-MET-02"},
        """
        groups:
          - name: waste
            rules:
              - {record: waste, expr: (DCGM_FI_DEV_FB_FREE - DCGM_FI_DEV_FB_USED) / DCGM_FI_DEV_FB_FREE * 40}
        """,
    ),
    "002:917-918 W": (
        {"GPU-MET-02"},
        """
        groups:
          - name: queue
            rules:
              - {alert: Wait, expr: avg(kueue_admission_wait_time_seconds) > 600}
        """,
    ),
    "002:954-957 X": (
        {"GPU-TEN-02", "GPU-QUE-04"},
        """
        apiVersion: v1
        kind: ResourceQuota
        metadata: {name: gpus, namespace: vision}
        spec:
          hard: {limits.nvidia.com/gpu: 8, persistentvolumeclaims: 10}
          scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}
        """,
    ),
    "002:989-1001 X": (
        {"GPU-TEN-03"},
        """
        apiVersion: networking.k8s.io/v1
        kind: NetworkPolicy
        metadata: {name: https, namespace: vision}
        spec:
          podSelector: {}
          policyTypes: [Egress]
          egress: [{to: [{podSelector: {}}], ports: [{port: 443}]}]
        """,
    ),
    "002:1175-1217 O": (
        {"GPU-OLD-01"},
        """
        apiVersion: tekton.dev/v1beta1
        kind: Task
        metadata: {name: train}
        spec: {steps: [{name: train, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]}
        """,
    ),
    "000:128, 001:21 X": (
        {"GPU-POD-04"},
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: cuda}
        spec:
          containers:
            - {name: a, image: "nvidia/cuda:11.8-runtime-ubuntu20.04"}
            - {name: b, image: "nvidia/cuda:12.0-runtime"}
        """,
    ),
    "000:134-139 X": (
        {"GPU-POD-04"},
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: mps}
        spec:
          containers:
            - name: a
              image: nvidia/cuda
              command: [sh, -c, nvidia-cuda-mps-control -d; echo set_default_memory_limit 25%]
        """,
    ),
    "000:230 X": (
        {"GPU-CFG-01"},
        """
        version: v1
        sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4, memoryGB: 8}]}}
        """,
    ),
    "000:446 X": (
        {"GPU-POD-04"},
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: limited}
        spec:
          containers:
            - name: a
              env: [{name: CUDA_MEMORY_LIMIT, value: 8GB}]
              resources: {limits: {nvidia.com/gpu: 1}}
        """,
    ),
    "001:77 W": (
        {"GPU-MET-03"},
        """
        apiVersion: autoscaling.k8s.io/v1
        kind: VerticalPodAutoscaler
        metadata: {name: v}
        spec: {resourcePolicy: {containerPolicies: [{controlledResources: [nvidia.com/gpu]}]}}
        """,
    ),
    "001:91-96 X": (
        {"GPU-MET-03"},
        """
        apiVersion: autoscaling/v2
        kind: HorizontalPodAutoscaler
        metadata: {name: h}
        spec: {metrics: [{type: Resource, resource: {name: nvidia.com/gpu, target: {type: Utilization}}}]}
        """,
    ),
    "001:160 X": (
        {"GPU-POD-05"},
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: steady}
        spec:
          containers: [{name: a}]
          affinity:
            nodeAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                nodeSelectorTerms:
                  - matchExpressions: [{key: k8s.amazonaws.com/ec2-spot-termination, operator: DoesNotExist}]
        """,
    ),
    "003:186 X": (
        {"GPU-POD-05"},
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: big}
        spec: {nodeSelector: {nvidia.com/gpu.memory: 40536MiB}, containers: [{name: a}]}
        """,
    ),
    "003:237-249 X": (
        {"GPU-POD-04", "GPU-POD-05"},
        """
        apiVersion: apps/v1
        kind: DaemonSet
        metadata: {name: exporter, namespace: monitoring}
        spec:
          template:
            spec:
              containers:
                - name: exporter
                  image: nvidia/dcgm-exporter:3.1.3
                  env: [{name: DCGM_EXPORTER_KUBERNETES, value: "true"}]
        """,
    ),
    "003:303 X": (
        {"GPU-MET-01"},
        """
        groups:
          - name: memory
            rules: [{alert: Full, expr: DCGM_FI_DEV_FB_USED / DCGM_FI_DEV_FB_TOTAL > 0.9}]
        """,
    ),
    "004:48-49 X": (
        {"GPU-POD-04"},
        """
        apiVersion: apps/v1
        kind: DaemonSet
        metadata: {name: plugin, namespace: gpus}
        spec:
          template:
            spec:
              containers:
                - name: plugin
                  image: nvidia/k8s-device-plugin:v0.14.0
                  securityContext: {allowPrivilegeEscalation: false, capabilities: {add: [CAP_SYS_ADMIN]}}
        """,
    ),
    "004:96 W": (
        {"GPU-POD-05"},
        """
        apiVersion: apps/v1
        kind: DaemonSet
        metadata: {name: plugin, namespace: gpus}
        spec:
          selector: {matchLabels: {app: plugin}}
          template:
            spec:
              tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
              containers: [{name: plugin, image: nvidia/k8s-device-plugin:v0.20.0}]
        """,
    ),
}

NO_FILE = {
    "002:294-303 X": "a flag of a command line, which is no file of a stack",
    "002:545-576 X": "what an image has inside it, and whether its launcher can reach the workers",
    "002:1141-1148 X": "a template of another language inside a workflow's text; nothing about GPUs",
    "000:34 X": "an import of a Python program",
    "001:58-61 X": "flags of nvidia-smi in a shell",
}
"""Rows of errors that no manifest, value or plan shows, and why."""

RIGHT = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: research, namespace: vision}
spec: {clusterQueue: cq}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: vision, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  template:
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
      containers:
        - name: a
          image: nvidia/cuda:12.4.1-base-ubuntu22.04
          resources: {limits: {nvidia.com/gpu: 8}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}, expireAfter: Never}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 10m}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: inference}
spec:
  triggers:
    - type: prometheus
      metadata: {query: 'avg(DCGM_FI_PROF_GR_ENGINE_ACTIVE{exported_namespace="vision"})'}
---
groups:
  - name: gpu
    rules:
      - alert: Idle
        expr: avg by (exported_namespace, exported_pod) (DCGM_FI_PROF_GR_ENGINE_ACTIVE) < 0.05
      - alert: Full
        expr: >-
          DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE + DCGM_FI_DEV_FB_RESERVED) > 0.95
      - alert: Wait
        expr: >-
          histogram_quantile(0.95, sum by (le) (rate(kueue_admission_wait_time_seconds_bucket[1h]))) > 3600
---
mig: {strategy: mixed}
toolkit: {version: v1.20.0}
devicePlugin:
  config:
    name: sharing
    create: true
    default: any
    data:
      any: |
        version: v1
        sharing:
          timeSlicing:
            renameByDefault: true
            failRequestsGreaterThanOne: true
            resources: [{name: nvidia.com/gpu, replicas: 4}]
"""


def found(text):
    reading = read(textwrap.dedent(text).encode(), "guide.yaml")
    assert reading.skipped == ()
    outcomes = evaluate([item.resource for item in reading.items], RULES)
    assert {o.state for o in outcomes} <= {FindingState.OPEN}
    return outcomes


@every("row", sorted(GUIDES))
def test_what_a_guide_gets_wrong_is_found(row):
    ids, text = GUIDES[row]
    assert ids <= {outcome.rule.id for outcome in found(text)}


@every("row", sorted(row for row in GUIDES if row.endswith("X")))
def test_what_fails_or_does_nothing_is_more_than_a_note(row):
    ids, text = GUIDES[row]
    severities = {o.diagnostic.severity for o in found(text) if o.rule.id in ids}
    assert severities & {Severity.ERROR, Severity.WARNING}


def test_the_right_forms_pass_every_rule_that_finds_the_wrong_ones():
    speaking = set().union(*(ids for ids, _ in GUIDES.values()))
    assert [(o.rule.id, o.diagnostic.problem) for o in found(RIGHT) if o.rule.id in speaking] == []


OF_REPOSITORIES = {"GPU-MET-05", "GPU-QUE-05"}
"""Mistakes that public repositories or Kueue's users make, and none of these guides."""


def test_every_new_rule_finds_something_in_a_guide():
    areas = ("GPU-CFG", "GPU-QUE", "GPU-MET", "GPU-OLD")
    wanted = {rule.id for rule in RULES if rule.id.startswith(areas)} - OF_REPOSITORIES
    assert wanted <= set().union(*(ids for ids, _ in GUIDES.values()))


def test_no_row_is_both_found_and_out_of_sight():
    assert not {row.rsplit(" ", 1)[0] for row in GUIDES} & {r.rsplit(" ", 1)[0] for r in NO_FILE}
    assert all(reason for reason in NO_FILE.values())
