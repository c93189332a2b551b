"""`gpuyard classify`: the workload class of a job, what suits it, and why."""

from typing import Any

from gpuyard.cli.views.findings import document
from gpuyard_advisor.cli.job_files import (
    no_workload_error,
    objects_in,
    read_documents,
    skipped_objects,
)
from gpuyard_advisor.cli.options import JobArgument
from gpuyard_advisor.job_classes.classify import ClassifiedWorkload
from gpuyard_advisor.job_classes.classify import classify as classify_job
from gpuyard_advisor.workloads import read_job
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import show_path
from gpuyard_core.terminal.console import Column, Console, diagnostics, results, table, write
from gpuyard_core.terminal.documents import as_json, tree
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption
from gpuyard_core.terminal.text import pluralize
from gpuyard_core.yaml_tree import Document


def classify(
    job: JobArgument,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Classify a job. Shows its class, queue, sharing mode and priority, with the evidence."""
    shown, documents = read_documents(job)
    values = objects_in(documents)
    jobs = [read for value in values if (read := read_job(value)) is not None]
    if not jobs:
        raise UsageError(no_workload_error(shown, values))
    classifications = [classify_job(each) for each in jobs]
    skipped = len(values) - len(jobs)
    twice = _duplicates(documents)
    if format is Format.JSON:
        write(as_json(_document(shown, classifications, skipped, twice)))
        return OK
    console = results()
    for number, one in enumerate(classifications):
        if number:
            console.print()
        _show(one, console)
    for text in twice:
        diagnostics().print_wrapped(text, first="! ")
    for each in skipped_objects(values):
        diagnostics().print_wrapped(each, first="! ")
    if skipped:
        diagnostics().print_wrapped(
            f"{pluralize(skipped, 'other object')} in {shown} skipped: not a workload"
        )
    return OK


def _duplicates(documents: list[Document]) -> list[str]:
    return [
        f"line {line}: {show_path(path)} occurs twice; the last value counts, as in kubectl"
        for d in documents
        for path, line in d.duplicates
    ]


def _show(one: ClassifiedWorkload, console: Console) -> None:
    title = f"{one.kind} {one.name or '(no name)'}"
    console.print((title, "bold"), "  ", (one.job_class.value, "bold green"))
    console.print_wrapped(one.reason, indent=2)
    rows = [("requests", _requests(one), _in_all(one))]
    for name, advice in (
        ("queue", one.queue),
        ("sharing", one.sharing),
        ("priority", one.priority),
    ):
        rows.append((name, advice.value, advice.why))
    console.show(table([Column(""), Column(""), Column("", wraps=True)], rows))
    if one.evidence:
        console.print()
        columns = [Column("for"), Column("points", "right"), Column("because", wraps=True)]
        lines = [(e.job_class.value, f"+{e.weight}", e.message) for e in one.evidence]
        console.show(table(columns, lines))
    for problem in one.problems:
        console.print_wrapped(problem, first="! ", style="yellow", indent=2)


def _requests(one: ClassifiedWorkload) -> str:
    return ", ".join(f"{n} {name}" for name, n in one.gpu_request.items()) or "no GPU"


def _in_all(one: ClassifiedWorkload) -> str:
    if not one.gpu_request or one.pods == 1:
        return f"in {pluralize(one.pods, 'pod')}"
    total = ", ".join(f"{n:,} {name}" for name, n in one.gpus_in_all.items()) or "none"
    are_identical = one.gpus_in_all == {name: n * one.pods for name, n in one.gpu_request.items()}
    return f"in {'each' if are_identical else 'the largest'} of {one.pods:,} pods; {total} in total"


def _document(
    shown: str, results: list[ClassifiedWorkload], skipped: int, twice: list[str]
) -> dict[str, Any]:
    jobs = [
        {"class" if key == "job_class" else key: value for key, value in tree(one).items()}
        for one in results
    ]
    for job in jobs:
        for item in job["evidence"]:
            item["class"] = item.pop("job_class")
    return document("classify", file=shown, jobs=jobs, skipped=skipped, duplicate_keys=twice)
