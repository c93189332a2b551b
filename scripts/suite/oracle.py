#!/usr/bin/env python3
"""Records the project's behavior, so that a refactoring can be compared with it.

    scripts/suite/oracle.py write FILE                      record this checkout
    scripts/suite/oracle.py compare A B [--renames TABLE]   compare two records; exit code 1 when they differ

An entry has the hash of the exact output and its structure: the same document with `<text>` for each
sentence, script and block of lines. `compare` counts entries that are equal, equal in structure only, and
different. TABLE has tab-separated values (kind, where, old, new), applied to A before the comparison.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / each) for each in ("components", "tests", "scripts", "")]
os.environ["GPUYARD_TODAY"] = "2026-11-21"
TEXT = re.compile(r"[^\W\d_]\S* +\S+ +\S|\n")
"""Three words, or several lines."""
DIGEST = "gpuyard.dev/carries"
"""The annotation with the digest of an agent's source, which changes with each name in it."""
Entries = Iterator[tuple[str, Any]]
Words = dict[str, str]
IN_OUTPUT = {"json-key", "stack-field", "severity", "option", "output", "value"}
"""Kinds of rows that change output; the others change only public names."""
SHOWN = 12
STACK_COMMANDS = ("check", "plan", "cost", "images", "permissions", "readiness")
COMMANDS = """
--help | --version | nope | check | check nope | check local | check local --fail-on nope
plan local --verbose | check local --against nope | check local --destroy | cost local --format xml
cost local --against aws-training | mig H100-80 | mig NOPE | why | why GPU-ADM-01
why pool.left_over | why nope | get local nope | get local name | lint nope
lint --rules --format json | lint --explain GPU-ADM-01 | offers training --gpus 8 --format json
offers nope | readiness local --format json | explain local nope | render local | adopt | recover
policies | permissions aws-training --account 1 | images gcp-training --format crane
version --facts --format json | classify nope | pack slices H100-80 1g.10gb=3 | check --help
plan --help | cost --help | lint --help | offers --help | mig --help | classify --help
explain --help | why --help | policies --help | render --help | images --help | get --help
pack slices --help | pack machines --help | permissions --help | adopt --help | recover --help
validate --help | readiness --help
"""


def _entry(document: Any) -> dict[str, Any]:
    exact = json.dumps(document, sort_keys=True, default=str, ensure_ascii=False)
    exact = exact.replace(str(ROOT), "ROOT")
    digest = hashlib.sha256(exact.encode()).hexdigest()[:16]
    return {"hash": digest, "structure": _structure(json.loads(exact))}


def _structure(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            "<text>" if TEXT.search(key) else key: "<digest>" if key == DIGEST else _structure(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_structure(each) for each in value]
    return "<text>" if isinstance(value, str) and TEXT.search(value) else value


def run(*words: str) -> dict[str, Any]:
    """A command in this process: its exit code and what it writes, JSON as a document."""
    ended = import_module("kit.inprocess").run(*words)
    out, err = (text.replace(str(ROOT), "ROOT") for text in (ended.out, ended.err))
    return {
        "code": ended.code,
        "out": json.loads(out) if out[:1] in {"{", "["} else out,
        "err": err,
    }


def stacks() -> Entries:
    """For every shipped and golden stack: each command, the Kubernetes objects, the cloud resources."""
    golden = ROOT / "tests" / "golden_stacks"
    for path in [*sorted((ROOT / "stacks").glob("Pulumi.*.yaml")), *sorted(golden.glob("*.yaml"))]:
        os.chdir(path.parent)
        for command in STACK_COMMANDS:
            yield f"{path.stem} {command}", run(command, f"./{path.name}", "--format", "json")
            yield f"{path.stem} {command} as text", run(command, f"./{path.name}")
        yield from _rendered(path)
        yield from _cloud_resources(path)


def _rendered(stack: Path) -> Entries:
    """The Kubernetes objects, by file."""
    import yaml

    from case_files import LOADER

    with tempfile.TemporaryDirectory() as folder:
        yield f"{stack.stem} render", run("render", f"./{stack.name}", "--out", folder)["code"]
        for file in sorted(each for each in Path(folder).rglob("*") if each.is_file()):
            text = file.read_text(encoding="utf-8")
            results = list(yaml.load_all(text, LOADER)) if file.suffix == ".yaml" else text
            yield f"{stack.stem} {file.relative_to(folder)}", results


def _cloud_resources(stack: Path) -> Entries:
    from gpuyard.cli.stacks import validate_stack

    plan = validate_stack(str(stack)).plan
    if plan and (graph := plan.provider.graph(plan)):
        yield f"{stack.stem} cloud resources", [_plain(each) for each in graph.resources]


def _plain(value: Any) -> Any:
    """Records as lists of their values in order, without field names."""
    if is_dataclass(value) and not isinstance(value, type):
        return [_plain(getattr(value, each.name)) for each in fields(value)]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else str(value)


def findings() -> Entries:
    """For every proof case: all findings."""
    import proofs
    from gpuyard_core.terminal.findings import finding_document

    for name in proofs.ids():
        for case in proofs.read(name).cases:
            result = proofs.judged(case).findings
            yield case.label, [finding_document(each) for each in result]


def rules() -> Entries:
    """Each rule on each of its cases, through each input format that can express the case."""
    from case_files import load
    from gpuyard_lint.read import read
    from gpuyard_lint.rules import RULES
    from gpuyard_lint.rules.run import RuleConfiguration, evaluate
    from proofs import LEAST

    formats = import_module("kit.cases.front_ends")
    for rule in sorted(RULES, key=lambda each: each.id):
        raw = load((ROOT / f"tests/rules/cases/{rule.id}.yaml").read_text(encoding="utf-8"))
        cases = [(kind, case) for kind in LEAST for case in raw[kind]]
        for (n, (kind, case)), front in product(enumerate(cases), formats.FRONT_ENDS):
            file, write = formats.FRONT_ENDS[front]
            try:
                text = write(case["resources"])
            except formats.NoTwinError:
                continue
            settings = RuleConfiguration(parameters={rule.id: case.get("parameters", {})})
            resources = [item.resource for item in read(text.encode(), file).items]
            yield (
                f"{rule.id} {kind} {n} as {front}",
                [
                    [o.state.value, d.severity.value, d.where, d.problem, d.fix_message]
                    for o in evaluate(resources, [rule], settings)
                    for d in [o.diagnostic]
                ],
            )


def lint() -> Entries:
    """For the corpus and each of its folders."""
    os.chdir(ROOT / "tests" / "lint")
    for folder in ("corpus", *sorted(map(str, Path().glob("corpus/*/")))):
        for form in ("json", "sarif", "junit", "github", "text"):
            yield f"{folder} as {form}", run("lint", folder, "--choices", "--format", form)


def schemas() -> Entries:
    """Schemas of stack files, and of the components, by type."""
    from gpuyard.resources.hosting import ComponentHost

    yield "stack file", run("schema")
    schema = json.loads(ComponentHost().schema or "{}")
    for part in ("types", "resources"):
        yield from ((f"{part} {name}", value) for name, value in schema[part].items())


def commands() -> Entries:
    """Output and exit codes of commands."""
    os.chdir(ROOT)
    yield from ((each, run(*each.split())) for each in re.split(r" \| |\n", COMMANDS.strip()))


def names() -> Entries:
    """Public definitions by module, from the source."""
    for path in sorted((ROOT / "components").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "components").with_suffix("").parts)
        yield module, sorted(_definitions(ast.parse(path.read_text(encoding="utf-8")).body))


def _definitions(body: list[ast.stmt], within: str = "") -> Iterator[str]:
    for node in body:
        results = [
            getattr(node, "name", None),
            *getattr(node, "targets", [getattr(node, "target", None)]),
        ]
        defined = [each.id if isinstance(each, ast.Name) else each for each in results]
        yield from (within + each for each in defined if isinstance(each, str) and each[0] != "_")
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{within}{node.name}.")


def import_seconds() -> Entries:
    """CPU seconds until a module is imported: the minimum of five."""
    for module in ("gpuyard", "gpuyard.cli.app", "gpuyard.plan", "gpuyard_lint.rules"):
        command = [sys.executable, "-c", f"import time, {module}; print(time.process_time())"]
        yield module, min(float(subprocess.check_output(command)) for _ in range(5))


OUTPUTS: tuple[Callable[[], Entries], ...] = (stacks, findings, rules, lint, schemas, commands)


def _write(file: Path) -> None:
    record = {make.__name__: {name: _entry(result) for name, result in make()} for make in OUTPUTS}
    record |= {"names": dict(names()), "import_seconds": dict(import_seconds())}
    file.write_text(json.dumps(record, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    print(", ".join(f"{section}: {len(result)}" for section, result in record.items()))


def _renamed(value: Any, words: Words, pattern: re.Pattern[str]) -> Any:
    """Keys, and strings that are not sentences, with their new words."""
    if isinstance(value, dict):
        return {_renamed(k, words, pattern): _renamed(v, words, pattern) for k, v in value.items()}
    if isinstance(value, list):
        return [_renamed(each, words, pattern) for each in value]
    return pattern.sub(lambda found: words[found[0]], value) if isinstance(value, str) else value


def _names_after(
    before: dict[str, list[str]], table: dict[str, Words], modules: Words
) -> dict[str, list[str]]:
    results = {}
    for module, listed in before.items():
        words = table["*"] | table[f"components/{module.replace('.', '/')}.py"]
        for old in sorted(modules, key=lambda each: -each.count(".")):
            if f"{module}.".startswith(f"{old}."):
                module = modules[old] + module[len(old) :]  # noqa: PLW2901
        results[module] = sorted(
            ".".join(words.get(part, part) for part in each.split(".")) for each in listed
        )
    return results


def _compare(first: Path, second: Path, renames: Path | None) -> int:
    a, b = (json.loads(each.read_text(encoding="utf-8")) for each in (first, second))
    words, modules, table = Words(), Words(), defaultdict[str, Words](dict)
    for line in renames.read_text(encoding="utf-8").splitlines()[1:] if renames else []:
        kind, where, old, new = line.split("\t")[:4]
        chosen = words if kind in IN_OUTPUT else modules if kind == "module" else table[where]
        chosen[old if kind == "module" else old.rpartition(".")[2]] = new
    longest = "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "(?!)"
    pattern = re.compile(rf"(?<![\w-])(?:{longest})(?![\w-])")
    differ = 0
    for section in (make.__name__ for make in OUTPUTS):
        counts, shown = Counter[str](), []
        for name in dict.fromkeys([*a[section], *b[section]]):
            old, new, place = a[section].get(name), b[section].get(name), None
            if old and new and old["hash"] != new["hash"]:
                place = _difference(_renamed(old["structure"], words, pattern), new["structure"])
                state = "different" if place else "equal in structure"
            else:
                state = "removed" if new is None else "added" if old is None else "equal"
            counts[state] += 1
            shown += [] if state.startswith("equal") else [f"  {state}: {name} {place or ''}"]
        differ += len(shown)
        print(f"{section}: {', '.join(f'{n} {state}' for state, n in counts.items())}")
        print(*shown[:SHOWN], sep="\n", end="\n" * bool(shown))
    before, after = _names_after(a["names"], table, modules), b["names"]
    other = [each for each in sorted({*before, *after}) if before.get(each) != after.get(each)]
    count, then = (sum(map(len, each.values())) for each in (before, after))
    print(f"names: {count}, then {then}; {len(other)} modules differ")
    for each in other[:SHOWN]:
        names_of_one = sorted({*before.get(each, ())} ^ {*after.get(each, ())})
        print(f"  {each}: {', '.join(names_of_one[:SHOWN])}")
    for module, seconds in a["import_seconds"].items():
        print(f"import {module}: {seconds:.3f} s, then {b['import_seconds'].get(module, 0):.3f} s")
    return 1 if differ or other else 0


def _difference(a: Any, b: Any, place: str = "$") -> str | None:
    """The first place at which two structures differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return f"{place}: {sorted(a.keys() - b.keys())}, then {sorted(b.keys() - a.keys())}"
        results = (_difference(a[key], b[key], f"{place}.{key}") for key in a)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        results = (
            _difference(x, y, f"{place}[{n}]") for n, (x, y) in enumerate(zip(a, b, strict=True))
        )
    else:
        return None if a == b else f"{place}: {str(a)[:60]}, then {str(b)[:60]}"
    return next(filter(None, results), None)


def _main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("command", choices=["write", "compare"])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--renames", type=Path)
    options = parser.parse_args()
    if options.command == "compare":
        return _compare(options.files[0], options.files[1], options.renames)
    _write(options.files[0].resolve())
    return 0


if __name__ == "__main__":
    sys.exit(_main())
