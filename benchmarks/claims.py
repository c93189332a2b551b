"""The headline figures of the field, each measured, simulated or not claimed: writes benchmarks/CLAIMS.md.

    python benchmarks/claims.py                  calculate the figures that take seconds again, and write the page
    python benchmarks/claims.py --check          only report what is missing or older than its code; exit code 1
    python benchmarks/claims.py wait "12 min"    record the figure of a longer command that ran now

field_claims.csv has the figures that guides and papers print, claims.yaml what gpuyard can show. A figure depends on
files; claims.yaml has their digest, which changes with their code and data, not with comments, docstrings or
formatting. Figures from the openb trace need $GPUYARD_TRACES, or `traces` next to $GPUYARD_UPSTREAM.
"""

import argparse
import ast
import csv
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

FIELD, ANSWERS, PAGE = (
    ROOT / "benchmarks" / name for name in ("field_claims.csv", "claims.yaml", "CLAIMS.md")
)
MEASURED, SIMULATED, NOT_CLAIMED = KINDS = ("measured", "simulated", "not claimed")
HEAD = """# Claims of the field

Guides, vendors and papers of this field print headline figures. This page has what gpuyard shows for each of them:

- **measured**: a command ran real components, or this machine.
- **simulated**: a model of gpuyard calculated it from a public trace, or from sourced prices and times.
- **not claimed**: with the reason.

`python benchmarks/claims.py` writes this page from `field_claims.csv` and `claims.yaml`. A test fails if a figure is
missing, or if the code or data that it depends on changed after it.
"""

Answer = dict[str, Any]


def field() -> list[dict[str, str]]:
    """The rows of the field."""
    with FIELD.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def answers() -> dict[str, Answer]:
    """What gpuyard shows, by the id of the row."""
    return dict(yaml.safe_load(ANSWERS.read_text(encoding="utf-8")))


def digest(patterns: Iterable[str]) -> str:
    """Digest of files: of the syntax of Python files without docstrings, of the bytes of others."""
    found = hashlib.sha256()
    for path in _files(patterns):
        text = path.read_text(encoding="utf-8")
        content = repr(_syntax(ast.parse(text))) if path.suffix == ".py" else text
        found.update(f"{path.relative_to(ROOT)}\0{content}\0".encode())
    return found.hexdigest()[:16]


def _files(patterns: Iterable[str]) -> Iterator[Path]:
    for pattern in patterns:
        chosen = sorted(path for path in ROOT.glob(pattern) if path.is_file())
        if not chosen:
            raise FileNotFoundError(f"{ANSWERS.name}: no file matches {pattern}")
        yield from (path for path in chosen if path.suffix != ".pyc")


def _syntax(node: object) -> object:
    """A syntax tree as nested tuples without docstrings, positions and empty fields."""
    if isinstance(node, list):
        return tuple(_syntax(one) for one in node if not _is_docstring(one))
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
        return (type(node).__name__, *((name, _syntax(value)) for name, value in fields))
    return node


def _is_docstring(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def problems(rows: Iterable[Mapping[str, str]], found: Mapping[str, Answer]) -> list[str]:
    """What is missing, incomplete or older than its code."""
    names = [row["id"] for row in rows]
    return [
        *(f"{name}: in {FIELD.name}, not in {ANSWERS.name}" for name in names if name not in found),
        *(f"{name}: in {ANSWERS.name}, not in {FIELD.name}" for name in found if name not in names),
        *(f"{name}: {text}" for name, answer in found.items() for text in _problems(answer)),
    ]


def _problems(answer: Answer) -> Iterator[str]:
    kind = answer.get("kind")
    if kind not in KINDS:
        yield f"kind {kind!r}; allowed: {', '.join(KINDS)}"
        return
    needed = (
        ("reason",) if kind == NOT_CLAIMED else ("figure", "command", "files", "date", "digest")
    )
    for key in needed:
        if not answer.get(key):
            yield f"no {key}"
    if kind != NOT_CLAIMED and answer.get("files") and answer["digest"] != digest(answer["files"]):
        yield f"the code changed after {answer['date']}: run {answer['command']}, and record its figure"


def page(rows: Iterable[Mapping[str, str]], found: Mapping[str, Answer]) -> str:
    """The page."""
    lines = [HEAD]
    topic = ""
    for row in rows:
        if row["topic"] != topic:
            topic = row["topic"]
            lines += [f"\n## {topic.capitalize()}\n", _HEADER]
        lines.append(_line(row, found[row["id"]]))
    return "\n".join(lines) + "\n"


_HEADER = "| claim | figure of the field | gpuyard | figure or reason | command | date |\n|---|---|---|---|---|---|"


def _line(row: Mapping[str, str], answer: Answer) -> str:
    text = answer.get("reason", "") if answer["kind"] == NOT_CLAIMED else answer["figure"]
    command = f"`{answer['command']}`" if answer.get("command") else ""
    cells = (row["claim"], row["figure"], answer["kind"], text, command, answer.get("date", ""))
    return f"| {' | '.join(str(cell).strip() for cell in cells)} |"


def _recorded(answer: Answer, figure: str) -> None:
    if figure != answer.get("figure") or digest(answer["files"]) != answer.get("digest"):
        answer["date"] = f"{datetime.now(UTC):%Y-%m-%d}"
    answer["figure"] = figure
    answer["digest"] = digest(answer["files"])


def _write(rows: Iterable[Mapping[str, str]], found: Mapping[str, Answer]) -> None:
    text = yaml.safe_dump(dict(found), sort_keys=False, allow_unicode=True, width=110)
    ANSWERS.write_text(text, encoding="utf-8")
    PAGE.write_text(page(rows, found), encoding="utf-8")


def main() -> int:
    """Record, calculate or check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("id", nargs="?", help="row whose figure is recorded")
    parser.add_argument("figure", nargs="?", help="its figure")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    rows, found = field(), answers()
    if not options.check:
        if options.id:
            _recorded(found[options.id], options.figure)
        else:
            for name, calculate in _calculations().items():
                _recorded(found[name], calculate())
        _write(rows, found)
    result = problems(rows, found)
    for problem in result:
        print(problem)
    return int(bool(result))


def _calculations() -> Mapping[str, Callable[[], str]]:
    from claims_calculated import CALCULATIONS

    return CALCULATIONS


if __name__ == "__main__":
    sys.exit(main())
