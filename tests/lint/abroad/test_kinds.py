"""Every kind in which people ask for GPUs is read where it says so: a mistake is found at its place."""

import pytest

from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from kit.every import every

GPU = "resources: {limits: {nvidia.com/gpu: 1}}"
MOVES = "GPU-POD-03"
HALF = "GPU-POD-04"
KINDS = {
    "KServe, a container of one's own": (
        f"""apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: m}}
spec:
  predictor:
    containers:
      - name: a
        image: m:latest
        {GPU}
""",
        [(MOVES, 8)],
    ),
    "KServe, a model with its runtime": (
        """apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: m}
spec:
  predictor:
    model:
      modelFormat: {name: huggingface}
      image: m:latest
      resources: {limits: {nvidia.com/gpu: 0.5}}
""",
        [(MOVES, 8), (HALF, 9)],
    ),
    "KServe, workers on several nodes": (
        f"""apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: m}}
spec:
  predictor:
    model: {{image: "m:1", {GPU}}}
    workerSpec:
      pipelineParallelSize: 2
      containers:
        - name: worker-container
          image: m:latest
          {GPU}
""",
        [(MOVES, 11)],
    ),
    "KServe, workers under a name of their own": (
        f"""apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: m}}
spec:
  predictor:
    workerSpec:
      model:
        image: m:latest
        {GPU}
""",
        [(MOVES, 8)],
    ),
    "KServe, a large language model": (
        f"""apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata: {{name: m}}
spec:
  prefill:
    template:
      containers:
        - name: a
          image: m:latest
          {GPU}
""",
        [(MOVES, 9)],
    ),
    "a workflow of Argo": (
        f"""apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: w}}
spec:
  templates:
    - name: train
      container:
        image: m:latest
        {GPU}
""",
        [(MOVES, 8)],
    ),
    "a rollout of Argo": (
        f"""apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {{name: r}}
spec:
  template:
    spec:
      containers:
        - name: a
          image: m:latest
          {GPU}
""",
        [(MOVES, 9)],
    ),
    "Spark": (
        """apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: s}
spec:
  image: spark:latest
  driver:
    cores: 1
  executor:
    instances: 2
    gpu: {name: nvidia.com/gpu, quantity: 1}
""",
        [(MOVES, 5)],
    ),
    "Spark whose image there never was": (
        """apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: s}
spec:
  image: nvidia/cuda:12.0
  executor:
    gpu: {name: nvidia.com/gpu, quantity: 1}
""",
        [("GPU-POD-04", 5)],
    ),
    "Spark with privileges": (
        """apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: s}
spec:
  executor:
    image: spark:3.5
    gpu: {name: nvidia.com/gpu, quantity: 1}
    securityContext: {privileged: true}
""",
        [("GPU-POD-02", 8)],
    ),
    "Spark, every day": (
        """apiVersion: sparkoperator.k8s.io/v1beta2
kind: ScheduledSparkApplication
metadata: {name: s}
spec:
  schedule: "@daily"
  template:
    image: spark:3.5
    executor:
      image: spark-rapids:latest
      gpu: {name: nvidia.com/gpu, quantity: 0.5}
""",
        [(HALF, 8), (MOVES, 9)],
    ),
    "a training job whose trainer says it": (
        """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: t}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    image: train:latest
    resourcesPerNode: {limits: {nvidia.com/gpu: 1.5}}
""",
        [(HALF, 6), (MOVES, 8)],
    ),
    "Ray": (
        f"""apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: r}}
spec:
  workerGroupSpecs:
    - groupName: gpus
      template:
        spec:
          containers:
            - name: a
              image: rayproject/ray-ml:latest
              {GPU}
""",
        [(MOVES, 11)],
    ),
    "NIM": (
        """apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: n}
spec:
  image:
    repository: nvcr.io/nim/meta/llama
    tag: latest
  resources: {limits: {nvidia.com/gpu: 0.5}}
""",
        [(MOVES, 5), (HALF, 8)],
    ),
    "a cache of NIM": (
        """apiVersion: apps.nvidia.com/v1alpha1
kind: NIMCache
metadata: {name: n}
spec:
  source: {ngc: {modelPuller: nvcr.io/nim/meta/llama}}
  resources: {limits: {nvidia.com/gpu: 0.5}}
""",
        [(HALF, 6)],
    ),
    "several NIMs": (
        """apiVersion: apps.nvidia.com/v1alpha1
kind: NIMPipeline
metadata: {name: n}
spec:
  services:
    - name: a
      enabled: false
    - name: b
      spec:
        image: {repository: nvcr.io/nim/meta/llama}
        resources: {limits: {nvidia.com/gpu: 1}}
""",
        [(MOVES, 10)],
    ),
    "a leader and its workers": (
        f"""apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: l}}
spec:
  leaderWorkerTemplate:
    workerTemplate:
      spec:
        containers:
          - name: a
            image: m:latest
            {GPU}
""",
        [(MOVES, 10)],
    ),
    "a claim of a slice that there is not": (
        """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: c}
spec:
  spec:
    devices:
      requests:
        - name: gpu
          exactly:
            deviceClassName: mig.nvidia.com
            selectors:
              - cel: {expression: "device.attributes['gpu.nvidia.com'].profile == '9g.80gb'"}
""",
        [("GPU-SHR-03", 12)],
    ),
    "a class of slices that there are not": (
        """apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: c}
spec:
  selectors:
    - cel: {expression: "device.attributes['gpu.nvidia.com'].profile == '9g.80gb'"}
""",
        [("GPU-SHR-03", 6)],
    ),
    "a ComputeClass of spot alone": (
        """apiVersion: cloud.google.com/v1
kind: ComputeClass
metadata: {name: c}
spec:
  priorities:
    - machineType: a3-highgpu-8g
      spot: true
""",
        [("GPU-CAP-03", 5)],
    ),
    "a NodeOverlay": (
        """apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: o}
spec:
  requirements: [{key: a, operator: Exists}]
  capacity: {cpu: 4}
""",
        [("GPU-CFG-03", 6)],
    ),
    "a pool of EKS Auto Mode": (
        """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p}
spec:
  disruption: {budgets: [{nodes: "0"}]}
  template:
    spec:
      nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}
      requirements:
        - {key: eks.amazonaws.com/instance-gpu-manufacturer, operator: In, values: [nvidia]}
""",
        [("GPU-CAP-02", 4), ("GPU-CAP-01", 7)],
    ),
    "a pool of AKS": (
        """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p}
spec:
  disruption: {budgets: [{nodes: "0"}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}
      requirements:
        - {key: karpenter.azure.com/sku-gpu-name, operator: In, values: [H100]}
""",
        [("GPU-CAP-02", 4), ("GPU-CAP-01", 7)],
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_mistake_is_found_in_the_kind_that_has_it(name):
    text, expected = KINDS[name]
    made = build_report(read(text.encode(), "a.yaml"), RULES)
    assert sorted((h.line, h.rule.id) for h in made.hits) == sorted((n, r) for r, n in expected)
    assert made.checked_resources >= 1
    assert made.skipped == ()


@every("name", KINDS)
def test_nothing_is_said_of_the_kind_where_nothing_is_asked_for(name):
    head = KINDS[name][0].split("spec:", 1)[0]
    rules = {rule for rule, _ in KINDS[name][1]}
    for rest in ("", "spec: {}\n", "spec: []\n", "spec: 5\n"):
        hits = build_report(read((head + rest).encode(), "a.yaml"), RULES).hits
        assert rules & {hit.rule.id for hit in hits} == set()
