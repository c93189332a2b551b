"""`gpuyard classify`: what kind of work a job is, what suits it, and why."""

from typing import Any

from gpuyard.advice.classify.classify import Classified
from gpuyard.advice.classify.classify import classify as classify_job
from gpuyard.cli.exit_codes import FINE
from gpuyard.cli.job_files import no_workload, objects_in, read_documents, unread_in
from gpuyard.cli.options import Format, FormatOption, Job
from gpuyard.cli.terminal.console import Column, Console, asides, results, table, write
from gpuyard.cli.terminal.text import many
from gpuyard.cli.views.documents import as_json, tree
from gpuyard.cli.views.findings import document
from gpuyard.errors import UsageError
from gpuyard.findings import show_path
from gpuyard.manifests.workloads import read_job
from gpuyard.spec.yaml_tree import Document


def classify(
    job: Job,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Classify a job. Shows its class, queue, sharing mode and priority, with the evidence."""
    shown, documents = read_documents(job)
    values = objects_in(documents)
    jobs = [read for value in values if (read := read_job(value)) is not None]
    if not jobs:
        raise UsageError(no_workload(shown, values))
    found = [classify_job(each) for each in jobs]
    skipped = len(values) - len(jobs)
    twice = _duplicates(documents)
    if format is Format.JSON:
        write(as_json(_document(shown, found, skipped, twice)))
        return FINE
    console = results()
    for number, one in enumerate(found):
        if number:
            console.say()
        _show(one, console)
    for text in twice:
        asides().tell(text, first="! ")
    for each in unread_in(values):
        asides().tell(each, first="! ")
    if skipped:
        asides().tell(f"{many(skipped, 'other object')} in {shown} left out: no workload")
    return FINE


def _duplicates(documents: list[Document]) -> list[str]:
    return [
        f"line {line}: {show_path(path)} stands twice; the last counts, as kubectl takes it"
        for d in documents
        for path, line in d.duplicates
    ]


def _show(one: Classified, console: Console) -> None:
    title = f"{one.kind} {one.name or '(no name)'}"
    console.say((title, "bold"), "  ", (one.job_class.value, "bold green"))
    console.tell(one.because, indent=2)
    rows = [("asks", _asks(one), _in_all(one))]
    for name, advice in (
        ("queue", one.queue),
        ("sharing", one.sharing),
        ("priority", one.priority),
    ):
        rows.append((name, advice.value, advice.why))
    console.show(table([Column(""), Column(""), Column("", wraps=True)], rows))
    if one.evidence:
        console.say()
        columns = [Column("for"), Column("points", "right"), Column("because", wraps=True)]
        lines = [(e.job_class.value, f"+{e.weight}", e.says) for e in one.evidence]
        console.show(table(columns, lines))
    for problem in one.problems:
        console.tell(problem, first="! ", style="yellow", indent=2)


def _asks(one: Classified) -> str:
    return ", ".join(f"{n} {name}" for name, n in one.asks.items()) or "no GPU"


def _in_all(one: Classified) -> str:
    if not one.asks or one.pods == 1:
        return f"in {many(one.pods, 'pod')}"
    total = ", ".join(f"{n:,} {name}" for name, n in one.gpus_in_all.items()) or "none"
    alike = one.gpus_in_all == {name: n * one.pods for name, n in one.asks.items()}
    return f"in {'each' if alike else 'the largest'} of {one.pods:,} pods; {total} in all"


def _document(
    shown: str, found: list[Classified], skipped: int, twice: list[str]
) -> dict[str, Any]:
    jobs = [
        {"class" if key == "job_class" else key: value for key, value in tree(one).items()}
        for one in found
    ]
    for job in jobs:
        for item in job["evidence"]:
            item["class"] = item.pop("job_class")
    return document("classify", file=shown, jobs=jobs, skipped=skipped, duplicate_keys=twice)
