"""`gpuyard lint`: the rules over anybody's files."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import Annotated, Any

import typer

from gpuyard.cli.exit_codes import FINE, FOUND, USAGE
from gpuyard.cli.options import complete_stacks
from gpuyard.cli.stacks import STDIN, find_stack, read_regular, read_stdin, shown_path
from gpuyard.cli.terminal.console import STYLES, Console, asides, results, write
from gpuyard.cli.terminal.text import many
from gpuyard.cli.views.documents import as_json
from gpuyard.cli.views.findings import document, show_verdict
from gpuyard.errors import UsageError
from gpuyard.findings import Severity
from gpuyard.lint.baseline import read_baseline
from gpuyard.lint.baseline import write_baseline as as_baseline
from gpuyard.lint.ignores import Ignores, ignores_in
from gpuyard.lint.items import FilesRead, Unread
from gpuyard.lint.read import LIST, TIMES, read
from gpuyard.lint.report import Hit, HitState, Report, report
from gpuyard.rules import RULES
from gpuyard.rules.run import Strictness
from gpuyard.spec.yaml_tree import MAX_BYTES
from gpuyard.today import today

_WORDS = {FINE: "fine", USAGE: "unread", FOUND: "failed"}
"""The first word of the last line, by exit code."""
SUFFIXES = frozenset({".yaml", ".yml", ".json", LIST})
"""What is read of a folder; a file that is named itself is read whatever it is called."""
_LEFT_OUT = frozenset({".git", ".terraform", "node_modules", ".venv", "__pycache__", ".pulumi"})
MAX_SHOWN = 500


class LintFormat(StrEnum):
    """How what the rules say is written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


def lint(  # noqa: PLR0913, PLR0917  an option is a parameter
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH…",
            help="Files, folders, patterns, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        Severity, typer.Option(help="The least severity that ends with exit code 3.")
    ] = Severity.REFUSE,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Levels, parameters and exceptions of rules, as YAML."),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="STACK",
            help="Also the levels and exceptions of a stack's `policies`.",
            autocompletion=complete_stacks,
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What is known already and does not count."),
    ] = None,
    write_baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write down what is open now, for --baseline."),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List every rule instead.")] = False,
    format: Annotated[LintFormat, typer.Option(help="How to write the result.")] = LintFormat.TEXT,  # noqa: A002  the option's name
) -> int:
    """Hold files against the GPU rules. Kubernetes YAML, Pulumi previews and states, Terraform plans."""
    if rules:
        from gpuyard.cli.commands.lint_rules import show_rules

        return show_rules(paths or [], format.value)
    if not paths:
        raise UsageError("nothing to lint. Give files, folders, patterns, or - for standard input.")
    settings, known = _settings(config, stack), _known(baseline)
    reading, ignores = read_all(paths)
    made = report(reading, RULES, settings, ignores, known)
    if write_baseline is not None:
        write_baseline.write_text(as_baseline(made.hits), encoding="utf-8")
    code = _code(made, paths, fail_on)
    _FORMATS[format](made, fail_on, _WORDS[code])
    _say_expired(settings)
    return code


def _code(made: Report, paths: Sequence[str], fail_on: Severity) -> int:
    """A template is no fault of the file, and a name that was given itself must be readable."""
    if any(not unread.template and unread.file in paths for unread in made.unread):
        return USAGE
    return FOUND if made.fails(fail_on) else FINE


def _settings(path: Path | None, stack: str | None) -> Strictness:
    """Of a file of settings and of a stack file; what the first says of a rule counts."""
    if path is None and stack is None:
        return Strictness(today=today())
    from gpuyard.lint.settings import read_section, read_settings, together

    found: list[Strictness] = []
    if path is not None:
        data = read_regular(path, MAX_BYTES, "the settings of rules")
        found.append(read_settings(data, str(path), RULES, today()))
    if stack is not None:
        file = find_stack(stack)
        found.append(read_section(read_regular(file, MAX_BYTES), shown_path(file), RULES, today()))
    return reduce(together, found)


def _say_expired(settings: Strictness) -> None:
    if settings.exemptions:
        from gpuyard.lint.settings import expired

        for line in expired(settings):
            asides().tell(f"{line}: the rule holds there again", first="! ")


def _known(path: Path | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    return read_baseline(read_regular(path, MAX_BYTES * TIMES, "a baseline"), str(path))


def read_all(paths: Sequence[str]) -> tuple[FilesRead, Ignores]:
    """Everything in the files and folders, each file once, in the order given and by name."""
    reading, ignores = FilesRead(), Ignores()
    for name in dict.fromkeys(_files(paths)):
        try:
            data = _bytes(name)
        except UsageError as e:
            if name in paths:
                raise
            reading += FilesRead((), (Unread(name, str(e)),), (name,))
            continue
        shown = "<stdin>" if name == STDIN else name
        reading += read(data, shown)
        ignores += ignores_in(data, shown)
    return reading, ignores


def _bytes(name: str) -> bytes:
    if name == STDIN:
        return read_stdin(MAX_BYTES * TIMES)
    return read_regular(Path(name), MAX_BYTES * TIMES, "a file, a folder, a pattern, or -")


def _files(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if path == STDIN or not path or "\0" in path:
            yield path
        elif _is(path, Path.is_dir):
            yield from _below(path)
        elif any(sign in path for sign in "*?[") and not _is(path, Path.exists):
            yield from _matching(path)
        else:
            yield path


def _is(path: str, what: Callable[[Path], bool]) -> bool:
    """False as well where nobody can tell, as of a name that is too long; reading it says why."""
    try:
        return what(Path(path))
    except OSError:
        return False


def _below(folder: str) -> Iterator[str]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for name in sorted(names):
            if Path(name).suffix in SUFFIXES:
                yield str(Path(at) / name)


def _matching(pattern: str) -> Iterator[str]:
    import glob

    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207  patterns may be absolute
    if not found:
        raise UsageError(f"{pattern}: no file matches. Give a file, a folder, a pattern, or -.")
    yield from (each for each in found if Path(each).is_file())


def _text(made: Report, _: Severity, word: str) -> None:
    console = results()
    shown = [hit for hit in made.hits if hit.state in {HitState.OPEN, HitState.NOT_EVALUATED}]
    for number, hit in enumerate(shown[:MAX_SHOWN]):
        if number:
            console.say()
        show_hit(hit, console)
    if len(shown) > MAX_SHOWN:
        console.say()
        console.tell(f"… and {len(shown) - MAX_SHOWN:,} more; --format json lists every one.")
    for unread in made.unread:
        asides().tell(f"{unread.file}:{unread.line}: {unread.reason}", first="not read  ")
    for bare in made.without_reason:
        why = f"ignores nothing: say why, as `# gpuyard: ignore {bare.rules} because …`"
        asides().tell(f"{bare.file}:{bare.line}: {why}", first="! ")
    if shown:
        console.say()
    show_verdict(word, _summary(made), console)


def show_hit(hit: Hit, console: Console) -> None:
    """Severity, place in the resource and problem; then fix, note, resource, file, and how to read more."""
    word = "unknown" if hit.state is HitState.NOT_EVALUATED else hit.severity.value
    where = f"{hit.where}: " if hit.where else ""
    console.tell(f"{where}{hit.problem}", first=word.ljust(8), style=STYLES[hit.severity])
    for name, text in (("fix", hit.fix), ("note", hit.note), ("in", hit.resource)):
        if text:
            console.tell(text, first=name.ljust(9), style="dim", indent=8)
    console.say(("at".ljust(9), "dim"), f"{hit.file}:{hit.line}:{hit.column}", indent=8)
    console.say(("more".ljust(9), "dim"), hit.rule.more, indent=8)


def _summary(made: Report) -> str:
    seen = f"{many(made.resources, 'resource')} in {many(len(made.files), 'file')}"
    counts = {state.value.replace("-", " "): made.count(state) for state in HitState}
    parts = [f"{count} {name}" for name, count in counts.items() if count or name == "open"]
    if made.unread:
        parts.append(f"{many(len(made.unread), 'file or part', 'files or parts')} not read")
    return f"{seen} held against {many(len(made.rules), 'rule')}: {', '.join(parts)}"


def _json(made: Report, fail_on: Severity, _: str) -> None:
    write(
        as_json(
            document(
                "lint",
                fail_on=fail_on.value,
                failed=made.fails(fail_on),
                files=list(made.files),
                resources=made.resources,
                rules=[rule.id for rule in made.rules],
                counts={state.value: made.count(state) for state in HitState},
                hits=[_hit_document(hit) for hit in made.hits],
                unread=[
                    {
                        "file": each.file,
                        "line": each.line,
                        "reason": each.reason,
                        "template": each.template,
                    }
                    for each in made.unread
                ],
            )
        )
    )


def _hit_document(hit: Hit) -> dict[str, Any]:
    return {
        "rule": hit.rule.id,
        "title": hit.rule.title,
        "docs": hit.rule.more,
        "severity": hit.severity.value,
        "state": hit.state.value,
        "file": hit.file,
        "line": hit.line,
        "column": hit.column,
        "resource": hit.resource,
        "where": hit.where,
        "problem": hit.problem,
        "fix": hit.fix,
        "note": hit.note,
        "fingerprint": hit.fingerprint,
    }


def _sarif(made: Report, _: Severity, __: str) -> None:
    from importlib.metadata import version

    from gpuyard.lint.sarif import sarif

    write(as_json(sarif(made, version("gpuyard"))))


def _junit(made: Report, _: Severity, __: str) -> None:
    from gpuyard.lint.junit import junit

    write(junit(made))


def _github(made: Report, _: Severity, __: str) -> None:
    from gpuyard.lint.github import github

    write(github(made))


_FORMATS = {"text": _text, "json": _json, "sarif": _sarif, "junit": _junit, "github": _github}
