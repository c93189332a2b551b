"""The questions of `gpuyard advise` as frozen models, and the reader of an answers file."""

from enum import StrEnum
from math import ceil
from typing import Annotated, Any

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from gpuyard.job_classes.signals import JobClass
from gpuyard.spec.read import duplicate_keys
from gpuyard.spec.region import unknown_region
from gpuyard_core.catalogue.gpus import find_gpu, gpu_spellings
from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS
from gpuyard_core.findings import Diagnostic, Fix, error, format_list
from gpuyard_core.models.problems import format_input, validation_findings
from gpuyard_core.models.values import (
    Count,
    MemoryGib,
    Name,
    Percent,
    Positive,
    SpecModel,
    Switch,
    Usd,
    value_error,
)
from gpuyard_core.suggestions import nearest_name
from gpuyard_core.yaml_tree import parse_yaml

Amount = Annotated[float, Field(strict=True, gt=0, le=1e9, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, gt=0, le=100, allow_inf_nan=False)]

WHOLE_NODE = 8
"""GPUs of the largest common node. Larger jobs span nodes by default, and of a cloud only such nodes."""
MOST_GPUS = 2048
"""Demand of one cluster with the system nodes and the network of an advised stack."""
_BUSY = 0.75
"""Share of the time in which the GPUs of queued jobs work, in the middle of the target of 65 to 85 %."""
_HOURS_PER_DAY = 24


class BudgetProfile(StrEnum):
    """What counts more, cost or performance."""

    COST = "cost"
    BALANCED = "balanced"
    PERFORMANCE = "performance"


class Organisation(StrEnum):
    """Who decides about GPUs: one platform team, or each team about its own."""

    CENTRAL = "central"
    DECENTRALISED = "decentralised"


class ServiceTier(StrEnum):
    """Service level of a workload."""

    REAL_TIME = "real-time"
    BATCH = "batch"
    DEVELOPMENT = "development"


class Supply(StrEnum):
    """How many GPUs the clouds of a region offer."""

    BROAD = "broad"
    SCARCE = "scarce"


class AdvisedCloud(StrEnum):
    """Where the platform runs; `none` is a cluster of your own."""

    AWS = "aws"
    GCP = "gcp"
    NONE = "none"


class Workload(SpecModel):
    """One kind of job, service or notebook."""

    name: Name
    """Name of the workload; a pool and a shape of the stack are named after it."""
    kind: JobClass
    """Class: training, hpc, batch, inference, real-time-inference, notebook or other."""
    tier: ServiceTier | None = None
    """Service tier: real-time, batch or development. Default: that of the class."""
    team: Name | None = None
    """Team that runs it. Default: all teams."""
    gpu_memory_gib: MemoryGib
    """GPU memory that each pod needs on each of its GPUs, in GiB."""
    gpus_per_job: Positive = 1
    """GPUs that one job uses at the same time. Default: 1."""
    multi_node: Switch | None = None
    """Whether one job may span nodes. Default: on above 8 GPUs."""
    compute_percent: Share | None = None
    """Percentage of one GPU's compute that a pod uses. Default: unknown, to be measured."""
    p99_ms: Amount | None = None
    """Required 99th percentile of the latency in milliseconds. Default: none."""
    availability_percent: Percent | None = None
    """Required availability in percent, for example 99.9. Default: none."""
    requests_per_minute: Amount | None = None
    """Required throughput in requests per minute. Default: none."""
    gpus: Amount | None = None
    """Demand: GPUs in use at the same time if none is shared. Default: from `jobs_per_day`, otherwise one job."""
    jobs_per_day: Amount | None = None
    """Demand: jobs per day, each of `duration_hours`. Default: none."""
    duration_hours: Amount = 1.0
    """Duration of one job in hours. Default: 1."""
    checkpoint_minutes: Positive | None = None
    """Minutes between two checkpoints. Default: it writes none."""
    trusted: Switch = True
    """Whether all users of the workload trust each other. Default: on."""

    @property
    def spans_nodes(self) -> bool:
        """Whether one job may span nodes."""
        return self.gpus_per_job > WHOLE_NODE if self.multi_node is None else self.multi_node

    @property
    def jobs(self) -> int:
        """Jobs, replicas or notebooks at the same time."""
        if self.gpus is not None:
            return ceil(self.gpus / self.gpus_per_job)
        if self.jobs_per_day is not None:
            return ceil(self.jobs_per_day * self.duration_hours / _HOURS_PER_DAY / _BUSY)
        return 1


class OwnedHardware(SpecModel):
    """GPU servers that you own or plan to buy; ranges of assumptions are LOW, HIGH."""

    gpu: str
    """GPU model, by any common name: H100, A100-40."""
    nodes: Positive
    """Number of servers."""
    gpus_per_node: Positive = 8
    """GPUs in one server. Default: 8."""
    cpu: Positive = 96
    """CPU threads of one server. Default: 96."""
    memory_gib: MemoryGib = 1024
    """Main memory of one server in GiB. Default: 1024."""
    usd_per_gpu: Usd
    """Purchase price for each GPU in US dollars, with its part of server and network."""
    age_years: Annotated[float, Field(strict=True, ge=0, le=20)] = 0
    """Age in years. Default: 0."""
    watts_per_gpu: Usd = 700
    """Average power for each GPU in watts, with its part of the server. Default: 700."""
    utilisation_percent: Share = 50
    """Share of GPU time in use, in percent. Default: 50."""
    pue: tuple[Amount, Amount] = (1.2, 1.6)
    """Power usage effectiveness of the data centre. Default: [1.2, 1.6]."""
    usd_per_kwh: tuple[Amount, Amount] = (0.08, 0.15)
    """Price of electricity in US dollars per kWh. Default: [0.08, 0.15]."""
    operations_percent: tuple[Percent, Percent] = (20, 30)
    """Yearly operations in percent of the purchase price. Default: [20, 30]."""
    depreciation_years: tuple[Amount, Amount] = (3, 5)
    """Years of depreciation. Default: [3, 5]."""

    @field_validator("gpu")
    @classmethod
    def _known_gpu(cls, value: str) -> str:
        gpu = find_gpu(value)
        if gpu is None:
            nearest = nearest_name(value, gpu_spellings())
            raise value_error(
                "unknown_word",
                "no such GPU",
                allowed=format_list(gpu_spellings()),
                fix=f"write {nearest}" if nearest else "",
                change=((), nearest) if nearest else None,
            )
        return gpu.name

    @field_validator("pue", "usd_per_kwh", "operations_percent", "depreciation_years", mode="after")
    @classmethod
    def _in_order(cls, value: tuple[float, float], _: ValidationInfo) -> tuple[float, float]:
        low, high = value
        if low > high:
            raise value_error(
                "range_reversed",
                "the range runs backwards",
                allowed="[LOW, HIGH]",
                fix=f"write [{high:g}, {low:g}]",
                change=((), [high, low]),
            )
        return value


class Answers(SpecModel):
    """All answers."""

    name: Name = "advised"
    """Name of the platform. Default: advised."""
    cloud: AdvisedCloud
    """Where the nodes come from: aws, gcp, or none for servers of your own, described in `owned`."""
    region: Name | None = None
    """Region of the cloud. Default: us-east-1 on aws, us-central1 on gcp."""
    supply: Supply | None = None
    """Supply of GPUs in the region: broad or scarce. Default: broad in the US, the EU and Japan."""
    kubernetes: Annotated[str, Field(strict=True, pattern=r"^1\.\d\d$")] = "1.36"
    """Kubernetes minor version in quotes. Default: "1.36"."""
    budget: BudgetProfile = BudgetProfile.BALANCED
    """Budget profile: cost, balanced or performance. Default: balanced."""
    max_usd_per_month: Usd | None = None
    """Monthly limit of the bill in US dollars. Default: none."""
    organisation: Organisation = Organisation.CENTRAL
    """Organisation: central or decentralised. Default: central."""
    teams: Annotated[tuple[Name, ...], Field(min_length=1, max_length=100)] = ("research",)
    """Teams that share the platform. Default: [research]."""
    people: Count = 10
    """Number of people who submit jobs. Default: 10."""
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1, max_length=100)]
    """Workloads of the platform."""
    resource_claims: Switch = False
    """Whether pods request GPUs by ResourceClaim (DRA); a cluster has either claims or extended resources. Default: off."""
    owned: OwnedHardware | None = None
    """Servers that you own or plan to buy. Default: none."""


def read_answers(data: bytes, shown: str) -> tuple[Answers | None, list[Diagnostic]]:
    """The answers in a YAML file, or a finding for each error; UsageError if it is not YAML."""
    document = parse_yaml(data, shown)
    if twice := duplicate_keys(document):
        return None, twice
    return parse_answers(document.value)


def parse_answers(value: Any) -> tuple[Answers | None, list[Diagnostic]]:
    """The answers, or a finding for each error."""
    try:
        answers = Answers.model_validate(value)
    except ValidationError as invalid:
        return None, validation_findings(invalid, Answers, value)
    findings = list(_inconsistent(answers))
    return (None if findings else answers), findings


def _inconsistent(answers: Answers) -> list[Diagnostic]:
    """Answers that contradict each other."""
    results: list[Diagnostic] = []
    if answers.cloud is AdvisedCloud.NONE and answers.owned is None:
        results.append(
            error(
                "spec.missing",
                ("owned",),
                "`owned` is missing: with `cloud: none` it describes the nodes",
                fix=Fix(message="add `owned:` with gpu, nodes and usd_per_gpu"),
            )
        )
    if answers.kubernetes not in KUBERNETES_MINORS:
        results.append(
            error(
                "spec.unknown_word",
                ("kubernetes",),
                "not a supported minor version",
                given=format_input(answers.kubernetes),
                allowed=", ".join(KUBERNETES_MINORS),
            )
        )
    in_cloud = answers.region if answers.cloud is not AdvisedCloud.NONE else None
    if in_cloud and (problem := unknown_region(in_cloud, answers.cloud)):
        results.append(
            error(
                "spec.unknown_word",
                ("region",),
                problem[0],
                given=format_input(answers.region),
                allowed="a region of " + answers.cloud,
                fix=Fix(message=f"write {problem[1]}", at=("region",), value=problem[1])
                if problem[1]
                else None,
            )
        )
    demand = sum(each.jobs * each.gpus_per_job for each in answers.workloads)
    if demand > MOST_GPUS:
        results.append(
            error(
                "spec.out_of_bounds",
                ("workloads",),
                "the workloads need more GPUs at the same time than one cluster should have",
                given=f"{demand:,} GPUs",
                allowed=f"at most {MOST_GPUS:,} GPUs",
                fix=Fix(message="write an answers file for each of several platforms"),
            )
        )
    seen: set[str] = set()
    for index, workload in enumerate(answers.workloads):
        path = ("workloads", index)
        if workload.name in seen:
            results.append(
                error(
                    "spec.duplicate_key",
                    (*path, "name"),
                    "two workloads have this name",
                    given=format_input(workload.name),
                    allowed="each name once",
                )
            )
        seen.add(workload.name)
        if workload.team is not None and workload.team not in answers.teams:
            nearest = nearest_name(workload.team, answers.teams)
            results.append(
                error(
                    "spec.unknown_word",
                    (*path, "team"),
                    "no such team",
                    given=format_input(workload.team),
                    allowed=format_list(answers.teams),
                    fix=Fix(message=f"write {nearest}", at=(*path, "team"), value=nearest)
                    if nearest
                    else Fix(message=f"add {workload.team} to `teams`"),
                )
            )
    return results
