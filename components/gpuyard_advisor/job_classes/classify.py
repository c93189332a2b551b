"""Workload class of a job, with suitable queue, sharing mode and priority, and the evidence.

Each piece of evidence has a weight; the class with the highest sum wins. A label `gpuyard.dev/class`
overrides the evidence. `docs/concepts/classes.md` lists the weights.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gpuyard.job_classes.signals import (
    IMAGES,
    LATENCY_SENSITIVE_WORDS,
    MPI_LAUNCHERS,
    NOT_WAITING,
    PROGRAMS,
    WORDS,
    JobClass,
)
from gpuyard.job_classes.weights import (
    COMPONENT,
    COMPONENT_LABELS,
    ENDS,
    GANG,
    IMAGE,
    KINDS,
    MPI,
    NAME,
    NAME_LABELS,
    PROGRAM,
    QUEUE,
    SCRIPT,
    SHAPE,
    STAYS,
    TRAINING_ENV,
    WAITED_FOR,
)
from gpuyard_advisor.job_classes.words import (
    executed_commands,
    image_words,
    programs_in,
    subjects,
    words_of,
)
from gpuyard_advisor.workloads import ParsedContainer, ParsedWorkload
from gpuyard_core import names
from gpuyard_core.manifests.queued import UNQUEUED
from gpuyard_core.suggestions import nearest_name


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggestion and its reason."""

    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of evidence for a class."""

    job_class: JobClass
    weight: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifiedWorkload:
    """A workload with its class, advice, and evidence."""

    kind: str
    name: str
    namespace: str
    job_class: JobClass
    reason: str
    """The decision in a sentence."""
    evidence: tuple[Evidence, ...]
    """Evidence for the winning class first, then by weight."""
    scores: Mapping[JobClass, int]
    queue: Advice
    sharing: Advice
    priority: Advice
    gpu_request: Mapping[str, int] = field(default_factory=dict[str, int])
    """GPU resources of the largest pod."""
    gpus_in_all: Mapping[str, int] = field(default_factory=dict[str, int])
    """GPU resources of all pods that run at once."""
    pods: int = 1
    problems: tuple[str, ...] = ()


def classify(job: ParsedWorkload) -> ClassifiedWorkload:
    """Classify a workload by its evidence."""
    result = _unique_evidence(_evidence(job))
    chosen, because, problems = _chosen(job, result)
    scores = _scores(result)
    peak, total = _requests(job)
    return ClassifiedWorkload(
        kind=job.kind,
        name=job.name,
        namespace=job.namespace,
        job_class=chosen,
        reason=because,
        evidence=tuple(
            sorted(
                result, key=lambda e: (e.job_class is not _base_class(chosen), -e.weight, e.message)
            )
        ),
        scores={c: scores[c] for c in JobClass if scores[c]},
        queue=queue_of(job),
        sharing=sharing_of(chosen, peak, _claims(job), _fills_its_gpu(job)),
        priority=priority_of(job, chosen),
        gpu_request=peak,
        gpus_in_all=total,
        pods=sum(p.count for p in job.pods),
        problems=(*job.problems, *problems),
    )


def _base_class(job_class: JobClass) -> JobClass:
    """Real-time inference is a kind of inference, with the same evidence."""
    return JobClass.INFERENCE if job_class is JobClass.REAL_TIME else job_class


def _scores(results: Iterable[Evidence]) -> Counter[JobClass]:
    scores: Counter[JobClass] = Counter()
    for item in results:
        scores[item.job_class] += item.weight
    return scores


def _unique_evidence(results: Iterable[Evidence]) -> list[Evidence]:
    """Count equal evidence of several containers or roles once."""
    return list(dict.fromkeys(results))


def _chosen(job: ParsedWorkload, results: list[Evidence]) -> tuple[JobClass, str, tuple[str, ...]]:
    """The class, the reason in a sentence, and problems of an explicit label."""
    label = job.labels.get(names.CLASS_LABEL)
    problems: tuple[str, ...] = ()
    if label is not None:
        if label in set(JobClass):
            return JobClass(label), f"set by the label {names.CLASS_LABEL}", ()
        suggestion = nearest_name(label, [c.value for c in JobClass])
        known = ", ".join(c.value for c in JobClass)
        hint = f"; did you mean {suggestion}?" if suggestion else ""
        problems = (f"label {names.CLASS_LABEL}: {label!r} is not a class; allowed: {known}{hint}",)
    scores = _scores(results)
    if not scores:
        return JobClass.OTHER, "no evidence for a class", problems
    best = max(scores.values())
    winner = next(c for c in JobClass if scores[c] == best)
    against = max((w for c, w in scores.items() if c is not winner), default=0)
    because = f"{best} points for {winner.value}, {against} for the next"
    if winner is not JobClass.INFERENCE:
        return winner, because, problems
    refined, why = _refined(job)
    return refined, f"{because}; {why}", problems


def _refined(job: ParsedWorkload) -> tuple[JobClass, str]:
    """Finite inference is batch, interactive inference is real-time."""
    listens, probed = _listens(job), _probed(job)
    if job.kind in ENDS and not (listens or probed):
        return JobClass.BATCH, "it runs to completion and listens on no port"
    words = set(_name_words(job))
    points = (2 if listens else 0) + (2 if probed else 0) + (1 if job.kind in STAYS else 0)
    points += (WAITED_FOR if words & LATENCY_SENSITIVE_WORDS else 0) - (
        WAITED_FOR if words & NOT_WAITING else 0
    )
    if job.kind == "InferenceService":
        points += 2  # it makes the port and the probe itself
    if points >= WAITED_FOR:
        return JobClass.REAL_TIME, "it serves interactive requests"
    return JobClass.INFERENCE, "no evidence of interactive requests"


def _containers(job: ParsedWorkload) -> Iterator[ParsedContainer]:
    for pod in job.pods:
        yield from pod.containers


def _listens(job: ParsedWorkload) -> bool:
    return any(c.ports for c in _containers(job))


def _probed(job: ParsedWorkload) -> bool:
    return any(c.readiness for c in _containers(job))


def _claims(job: ParsedWorkload) -> int:
    return max((p.claims for p in job.pods), default=0)


def _requests(job: ParsedWorkload) -> tuple[dict[str, int], dict[str, int]]:
    """GPU resources of the largest pod, and of all pods together."""
    peak: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for pod in job.pods:
        peak |= Counter(pod.requests)
        total += Counter({name: count * pod.count for name, count in pod.requests.items()})
    return {n: peak[n] for n in sorted(peak)}, {n: total[n] for n in sorted(total)}


def _fills_its_gpu(job: ParsedWorkload) -> str:
    """The program that uses all memory of its GPU; "" if none is known."""
    fillers = {"vllm", "sglang", "text-generation-launcher", "trtllm-serve", "tgi", "lmdeploy"}
    for container in _containers(job):
        for command in executed_commands(container.command):
            words = {w for s in programs_in(command) for w in (s, s.partition(".")[0])}
            if results := sorted(words & fillers):
                return results[0]
        if results := sorted(set(image_words(container.image)) & fillers):
            return results[0]
    return ""


def _name_words(job: ParsedWorkload) -> Iterator[str]:
    yield from words_of(job.name)
    yield from words_of(job.runtime)
    for key in (*COMPONENT_LABELS, *NAME_LABELS):
        yield from words_of(job.labels.get(key, ""))


def _evidence(job: ParsedWorkload) -> Iterator[Evidence]:
    yield from _of_kind(job)
    for container in _containers(job):
        yield from _of_container(container)
    yield from _of_names(job)
    yield from _of_shape(job)


def _of_kind(job: ParsedWorkload) -> Iterator[Evidence]:
    if job.kind in KINDS:
        job_class, weight = KINDS[job.kind]
        schedule = f", schedule {job.schedule}" if job.schedule else ""
        yield Evidence(job_class, weight, f"kind {job.kind}{schedule}")


def _of_container(container: ParsedContainer) -> Iterator[Evidence]:
    for command in executed_commands(container.command):
        yield from _of_command(command)
    yield from _matches(image_words(container.image), IMAGES, IMAGE, "image")
    yield from _matches(words_of(container.name), WORDS, NAME, "container name")
    for name in container.env:
        if name in TRAINING_ENV:
            yield Evidence(JobClass.TRAINING, NAME, f"environment variable {name}")
        elif name.startswith("JUPYTER_"):
            yield Evidence(JobClass.NOTEBOOK, NAME, "environment variables of Jupyter")


def _of_command(command: tuple[str, ...]) -> Iterator[Evidence]:
    """Evidence of a known program, else of the words in script names; an MPI launcher adds a little."""
    programs = programs_in(command)
    launcher = next((p for p in programs[:1] if p in MPI_LAUNCHERS), None)
    if launcher:
        yield Evidence(JobClass.HPC, MPI, f"program {launcher}")
    ends = [p for p in programs if PROGRAMS.get(p) is JobClass.BATCH]
    known = ends or [p for p in programs if p in PROGRAMS]
    if known:
        yield Evidence(PROGRAMS[known[0]], PROGRAM, f"program {known[0]}")
    if not ends:
        yield from _matches(
            [w for subject in subjects(command) for w in words_of(subject)],
            WORDS,
            SCRIPT,
            "command",
        )


def _of_names(job: ParsedWorkload) -> Iterator[Evidence]:
    yield from _matches(words_of(job.name), WORDS, NAME, "name")
    yield from _matches(words_of(job.runtime), WORDS, NAME, "runtime")
    for key in COMPONENT_LABELS:
        yield from _matches(words_of(job.labels.get(key, "")), WORDS, COMPONENT, f"label {key}")
    for key in NAME_LABELS:
        yield from _matches(words_of(job.labels.get(key, "")), WORDS, NAME, f"label {key}")
    queue = job.labels.get(names.QUEUE_LABEL, "")
    yield from _matches(words_of(queue), WORDS, QUEUE, "queue name")


def _matches(
    words: Iterable[str], table: Mapping[str, JobClass], weight: int, where: str
) -> Iterator[Evidence]:
    """Each class once for each location, by its first word there."""
    seen: set[JobClass] = set()
    for word in words:
        if word in table and table[word] not in seen:
            seen.add(table[word])
            yield Evidence(table[word], weight, f"{where} contains the word {word}")


def _of_shape(job: ParsedWorkload) -> Iterator[Evidence]:
    """Evidence of the shape, only with GPUs: a web server without GPUs has the same shape."""
    peak, _ = _requests(job)
    if not peak and not _claims(job):
        return
    if job.kind in STAYS:
        yield Evidence(JobClass.INFERENCE, 2 * SHAPE, f"kind {job.kind}: long-running with a GPU")
    if _listens(job):
        yield Evidence(JobClass.INFERENCE, SHAPE, "it listens on a port")
    if _probed(job):
        yield Evidence(JobClass.INFERENCE, 2 * SHAPE, "a readiness probe")
    policies = {p.restart_policy for p in job.pods}
    if job.kind == "Pod" and policies & {"Never", "OnFailure"}:
        yield Evidence(JobClass.BATCH, SHAPE, "a pod that is not restarted after completion")
    yield from _of_many(job, peak)


def _of_many(job: ParsedWorkload, peak: Mapping[str, int]) -> Iterator[Evidence]:
    """Many concurrent dependent pods are training; many successive pods are batch."""
    if job.kind not in ENDS:
        return
    if peak.get(names.GPU, 0) >= GANG:
        yield Evidence(JobClass.TRAINING, 2 * SHAPE, f"{peak[names.GPU]} GPUs in a pod")
    if job.completions is not None and job.completions > job.parallelism:
        yield Evidence(
            JobClass.BATCH,
            2 * SHAPE,
            f"{job.completions} completions, {job.parallelism} at once",
        )
    elif job.indexed and job.parallelism > 1:
        yield Evidence(
            JobClass.TRAINING, 2 * SHAPE, f"{job.parallelism} numbered pods, all at once"
        )


def queue_of(job: ParsedWorkload) -> Advice:
    """The LocalQueue: its label, else the default queue."""
    named = job.labels.get(names.QUEUE_LABEL)
    if named:
        return Advice(named, f"its label {names.QUEUE_LABEL}")
    if job.kind in UNQUEUED:
        return Advice("none", f"Kueue does not queue kind {job.kind}; label its pods instead")
    return Advice(names.LOCAL_QUEUE, "the default queue of every team namespace")


_PRIORITIES = {
    JobClass.REAL_TIME: Advice("high", "users wait for each response"),
    JobClass.INFERENCE: Advice("high", "other services depend on its responses"),
    JobClass.NOTEBOOK: Advice("normal", "a user works in it interactively"),
    JobClass.TRAINING: Advice("normal", "it runs long and loses work on eviction"),
    JobClass.HPC: Advice("normal", "it runs long and loses work on eviction"),
    JobClass.BATCH: Advice("low", "no user waits for it, and it can be restarted"),
    JobClass.OTHER: Advice("low", "nothing indicates that it is urgent"),
}


def priority_of(job: ParsedWorkload, job_class: JobClass) -> Advice:
    """Its own priority, else the priority of its class."""
    named = job.labels.get(names.PRIORITY_LABEL)
    if named:
        return Advice(named, f"its label {names.PRIORITY_LABEL}")
    of_pods = sorted({p.priority_class for p in job.pods if p.priority_class})
    if of_pods:
        return Advice(of_pods[0], "its priorityClassName")
    return _PRIORITIES[job_class]


_OF_CLASS = {
    JobClass.TRAINING: Advice(
        "whole", "training uses a whole GPU, and another pod would slow each step"
    ),
    JobClass.HPC: Advice(
        "whole", "the slowest rank limits the speed, so no rank should share a GPU"
    ),
    JobClass.BATCH: Advice("whole", "throughput matters, and it finishes sooner alone"),
    JobClass.INFERENCE: Advice("mps", "small models run concurrently on one GPU"),
    JobClass.REAL_TIME: Advice("mig", "a dedicated slice keeps latency stable"),
    JobClass.NOTEBOOK: Advice("time-slicing", "mostly idle, so time-slicing costs little"),
    JobClass.OTHER: Advice("whole", "its effect on other pods of the GPU is unknown"),
}


def sharing_of(
    job_class: JobClass, asks: Mapping[str, int], claims: int, fills: str = ""
) -> Advice:
    """The sharing mode: as requested by resource name, else the mode of its class.

    `fills` is the program that uses all GPU memory; "" if none.
    """
    named = _by_name(job_class, asks)
    if named is not None:
        return named
    count = asks.get(names.GPU, 0)
    if count == 0:
        return _CLAIM if claims else Advice("none", "it requests no GPU")
    if count > 1:
        return Advice("whole", f"it requests {count} GPUs in one pod")
    if fills and job_class in _INFERS:
        return Advice("whole", f"{fills} uses all memory of its GPU")
    return _OF_CLASS[job_class]


_CLAIM = Advice("claim", "its resource claim decides (DRA)")
_INFERS = frozenset({JobClass.INFERENCE, JobClass.REAL_TIME})


def _by_name(job_class: JobClass, asks: Mapping[str, int]) -> Advice | None:
    """Advice from the resource names."""
    requested = [name for name, count in asks.items() if count]
    if any(name.startswith(names.MIG_PREFIX) for name in requested):
        return Advice("mig", "it requests MIG slices")
    if any(name == names.GPU_SHARED for name in requested):
        mode = "mps" if job_class in _INFERS else "time-slicing"
        return Advice(mode, "it requests a share; the pool sets the sharing mode")
    return None
