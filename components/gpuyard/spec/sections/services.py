"""Inference services: what a replica runs, how many there are, and what they scale on."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from gpuyard_core.models.values import (
    MAX_COUNT,
    MemoryGib,
    Name,
    NamespaceName,
    NodeRange,
    Positive,
    SpecModel,
    Text,
    value_error,
)

MOST_METRICS = 5
_QUERY_LENGTH = 2000
Seconds = Annotated[int, Field(strict=True, ge=0, le=3600)]
Drain = Annotated[int, Field(strict=True, ge=10, le=300)]
"""Admission policies allow pods with GPUs at most 300 seconds to terminate."""
Argument = Annotated[
    str, Field(strict=True, min_length=1, max_length=_QUERY_LENGTH, pattern=r"^[^\x00-\x1f\x7f]+$")
]
Target = Annotated[float, Field(strict=True, gt=0, le=MAX_COUNT, allow_inf_nan=False)]
Path = Annotated[str, Field(strict=True, max_length=200, pattern=r"^/[-._~a-zA-Z0-9/]*$")]
Port = Annotated[int, Field(strict=True, ge=1024, le=65535)]
SqsUrl = Annotated[
    str,
    Field(
        strict=True,
        max_length=253,
        pattern=r"^https://sqs\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/[0-9]{12}/[A-Za-z0-9_-]{1,75}(\.fifo)?$",
    ),
]
Subscription = Annotated[
    str,
    Field(
        strict=True,
        max_length=300,
        pattern=r"^projects/[a-z][-a-z0-9:.]{4,60}/subscriptions/[A-Za-z][-._~%+A-Za-z0-9]{2,254}$",
    ),
]


class ServiceKind(StrEnum):
    """The object of a service: a Deployment, a LeaderWorkerSet or an InferenceService of KServe."""

    DEPLOYMENT = "deployment"
    LEADER_WORKER_SET = "leader-worker-set"
    INFERENCE_SERVICE = "inference-service"


class ScaleOn(StrEnum):
    """What a service scales on.

    `gpu` is GPU activity, `requests` the requests in its replicas, `queue` the length of a message queue,
    `schedule` the time of day, `cpu` CPU utilisation.
    """

    GPU = "gpu"
    REQUESTS = "requests"
    QUEUE = "queue"
    SCHEDULE = "schedule"
    CPU = "cpu"


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Metrics = Annotated[
    tuple[ScaleOn, ...],
    BeforeValidator(_as_list),
    Field(min_length=1, max_length=MOST_METRICS),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [each.value for each in ScaleOn]},
                {
                    "type": "array",
                    "items": {"enum": [each.value for each in ScaleOn]},
                    "minItems": 1,
                    "maxItems": MOST_METRICS,
                },
            ]
        }
    ),
]


class MessageQueue(SpecModel):
    """A message queue whose length a service scales on."""

    sqs: SqsUrl | None = None
    """URL of an SQS queue. Default: none."""
    pubsub: Subscription | None = None
    """Pub/Sub subscription: projects/PROJECT/subscriptions/NAME. Default: none."""

    @property
    def region(self) -> str:
        """The region of an SQS queue; empty for others."""
        return self.sqs.split(".")[1] if self.sqs else ""

    @model_validator(mode="after")
    def _one(self) -> "MessageQueue":
        if (self.sqs is None) == (self.pubsub is None):
            raise value_error(
                "queue_form",
                "a service scales on one queue",
                allowed="sqs: URL, or pubsub: projects/PROJECT/subscriptions/NAME",
                fix="remove `pubsub`" if self.sqs else "add sqs or pubsub",
                change=(("pubsub",), None) if self.sqs else None,
            )
        return self


class ScheduleWindow(SpecModel):
    """Hours in which a service has at least so many replicas."""

    start: Text
    """Start of the window as a cron expression, for example `0 8 * * 1-5`."""
    end: Text
    """End of the window as a cron expression, for example `0 18 * * 1-5`."""
    replicas: Positive
    """Replicas in the window."""
    time_zone: Text = "UTC"
    """Time zone of both, an IANA name such as Europe/Paris. Default: UTC."""


class ModelSource(SpecModel):
    """Where a replica reads the weights of its model."""

    dataset: Name | None = None
    """Dataset of `storage.datasets`, mounted read-only. Default: none."""
    cache_gib: MemoryGib | None = None
    """Size in GiB of a volume in which each replica caches what it downloads; deleted with the replica.
    Default: none."""
    path: Path = "/models"
    """Directory in the container. Default: /models."""

    @model_validator(mode="after")
    def _one(self) -> "ModelSource":
        if (self.dataset is None) == (self.cache_gib is None):
            raise value_error(
                "model_form",
                "a model is read from a dataset, or cached in a volume",
                allowed="dataset: NAME, or cache_gib: N",
                fix="remove `cache_gib`" if self.dataset else "add dataset or cache_gib",
                change=(("cache_gib",), None) if self.dataset else None,
            )
        return self


class Prefill(SpecModel):
    """The replicas that compute prompts, apart from those that generate tokens."""

    shape: Name
    """Shape of `shapes` that one replica has."""
    replicas: NodeRange
    """Number of replicas, for example 1..4."""
    args: Annotated[tuple[Argument, ...], Field(max_length=100)] = ()
    """Arguments of the container. Default: none."""


class Service(SpecModel):
    """An inference service with autoscaling."""

    name: Name
    """Name of the service."""
    team: Name
    """Team in whose namespace it runs."""
    shape: Name
    """Shape of `shapes` that one replica has."""
    replicas: NodeRange
    """Number of replicas, for example 1..8; 0..8 scales to zero."""
    image: Text
    """Container image, for example registry.example.org/ml/vllm:0.11."""
    command: Annotated[tuple[Argument, ...], Field(max_length=100)] = ()
    """Command of the container. Default: that of the image."""
    args: Annotated[tuple[Argument, ...], Field(max_length=100)] = ()
    """Arguments of the container. Default: those of the image."""
    env: dict[Text, Argument] = Field(default_factory=dict)
    """Environment variables of the container. Default: none."""
    port: Port = 8000
    """Port of requests and metrics. Default: 8000, as in vLLM."""
    health_path: Path = "/health"
    """Path that responds once the model is loaded. Default: /health, as in vLLM."""
    metrics_path: Path = "/metrics"
    """Path of its metrics. Default: /metrics."""
    kind: ServiceKind | None = None
    """Kind: deployment, leader-worker-set or inference-service. Default: leader-worker-set for a shape of several
    nodes, otherwise deployment."""
    scale_on: Metrics = (ScaleOn.GPU,)
    """What it scales on: gpu, requests, queue, schedule, cpu, or a list of these, of which the one with the most
    replicas counts. Default: gpu."""
    targets: Annotated[dict[ScaleOn, Target], Field(max_length=MOST_METRICS)] = Field(
        default_factory=dict
    )
    """Targets: percent for gpu and cpu, for each replica requests or messages. Default: {gpu: 70, cpu: 70,
    requests: 16, queue: 5}."""
    query: Annotated[str, Field(strict=True, min_length=1, max_length=_QUERY_LENGTH)] | None = None
    """PromQL query for requests. Default: running and waiting requests of vLLM."""
    queue: MessageQueue | None = None
    """Message queue for scale_on: queue. Default: none."""
    schedule: Annotated[tuple[ScheduleWindow, ...], Field(max_length=20)] = ()
    """Windows for scale_on: schedule. Default: none."""
    scale_up_seconds: Seconds = 60
    """Stabilization window before replicas are added. Default: 60."""
    scale_down_seconds: Seconds = 300
    """Stabilization window before replicas are removed. Default: 300."""
    cooldown_seconds: Seconds = 300
    """Time without demand after which it scales to zero. Default: 300."""
    load_minutes: Annotated[int, Field(strict=True, ge=1, le=240)] = 10
    """Time that a replica has to load its model. Default: 10."""
    drain_seconds: Drain = 60
    """Time that a replica has to finish its requests. Default: 60."""
    model: ModelSource | None = None
    """Weights of the model: a dataset, or a cache. Default: part of the image."""
    priority: Name | None = None
    """Priority of `priorities`. Default: one above all of these."""
    callers: Annotated[tuple[NamespaceName, ...], Field(max_length=50)] = ()
    """Namespaces whose pods may call it, such as that of a gateway. Default: only that of the team."""
    prefill: Prefill | None = None
    """Replicas for prompts, with disaggregated serving. Default: none."""
