"""The corpus of GPU files: a careful reviewer's expectations, the findings of gpuyard lint, and those of checkov.

    python benchmarks/corpus.py                      regenerates docs/concepts/lint-compared.md
    python benchmarks/corpus.py --checkov PROGRAM    runs checkov over the files first, a minute or two

checkov is not a dependency: install it into a separate environment. Its results are stored next to this file in
corpus-checkov.json, with a digest of the files. tests/lint/test_corpus.py compares the page with all of it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpuyard_lint.read import read
from gpuyard_lint.report import Report, build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import RuleConfiguration
from gpuyard_lint.terraform import KINDS, PLURAL

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "lint" / "corpus"
EXPECTED = CORPUS / "EXPECTED.yaml"
KEPT = Path(__file__).with_name("corpus-checkov.json")
PAGE = ROOT / "docs" / "concepts" / "lint-compared.md"

SAME_CAUSE: Mapping[str, str] = {
    "CKV_AWS_38": "GPU-AWS-01",
    "CKV_AWS_39": "GPU-AWS-01",
    "CKV_AWS_58": "GPU-AWS-02",
    "CKV_AWS_37": "GPU-AWS-03",
    "CKV_AWS_79": "GPU-AWS-04",
    "CKV_AWS_341": "GPU-AWS-04",
    "CKV_AWS_24": "GPU-NET-01",
    "CKV_AWS_25": "GPU-NET-01",
    "CKV_AWS_100": "GPU-NET-01",
    "CKV_AWS_277": "GPU-NET-01",
    "CKV_GCP_2": "GPU-NET-01",
    "CKV_GCP_3": "GPU-NET-01",
    "CKV_GCP_20": "GPU-GCP-01",
    "CKV_GCP_25": "GPU-GCP-01",
    "CKV_GCP_64": "GPU-GCP-01",
    "CKV_GCP_69": "GPU-GCP-02",
    "CKV2_GCP_1": "GPU-GCP-02",
    "CKV_GCP_68": "GPU-GCP-03",
    "CKV_GCP_72": "GPU-GCP-03",
    "CKV_GCP_22": "GPU-GCP-05",
    "CKV_GCP_9": "GPU-GCP-06",
    "CKV_GCP_70": "GPU-GCP-06",
    "CKV_K8S_16": "GPU-POD-02",
    "CKV_K8S_17": "GPU-POD-02",
    "CKV_K8S_18": "GPU-POD-02",
    "CKV_K8S_14": "GPU-POD-03",
    "CKV_K8S_43": "GPU-POD-03",
    "CKV2_K8S_6": "GPU-TEN-03",
}
"""Checks of checkov with the same cause as a rule of gpuyard."""
MOST_SECONDS = 500
FRAMEWORKS = ("--framework", "kubernetes", "terraform_plan", "secrets")
SECRETS = "CKV_SECRET_"
"""Its search for secrets: the cause of GPU-STA-01 for secrets."""
MISSED_BY_US: Mapping[tuple[str, int], tuple[str, ...]] = {
    ("notebooks/jupyterhub-values.yaml", 6): ("CKV_K8S_14", "CKV_K8S_43"),
}
"""Mistakes that no rule of gpuyard covers, and the checks that do."""


@dataclass(frozen=True)
class Expectation:
    """One file with a careful reviewer's verdict."""

    name: str
    expected: tuple[tuple[int, str], ...]
    missed: tuple[tuple[int, str], ...]
    false_alarms: tuple[tuple[int, str], ...]

    @property
    def category(self) -> str:
        """The folder of the file."""
        return self.name.partition("/")[0]

    @property
    def sound(self) -> bool:
        """True if the file is correct."""
        return not self.expected and not self.missed


def expectations() -> list[Expectation]:
    """Every file of the corpus, in order."""
    listed = yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))
    return [
        Expectation(
            name, *(_lines(given.get(key, ())) for key in ("expected", "missed", "false_alarms"))
        )
        for name, given in listed.items()
    ]


def _lines(texts: list[str]) -> tuple[tuple[int, str], ...]:
    return tuple((int(text.partition(" ")[0]), text.partition(" ")[2]) for text in texts)


@cache
def linted(name: str) -> Report:
    """The findings of one file, linted alone."""
    settings = RuleConfiguration(counts_advisory=True)  # a careful reviewer names them as well
    return build_report(read((CORPUS / name).read_bytes(), name), RULES, settings)


def found(name: str) -> list[tuple[int, str]]:
    """Line and rule of every finding, each once."""
    return sorted({(hit.line, hit.rule.id) for hit in linted(name).hits})


def digest() -> str:
    """The digest of all files, to detect outdated results."""
    files = sorted(CORPUS.glob("*/*"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


# ── checkov ─────────────────────────────────────────────────────────────────────────────────────────────


def run_checkov(program: str) -> None:
    """Run it on every file, in its best input format, and store its findings."""
    with tempfile.TemporaryDirectory() as folder:
        for each in expectations():
            _write_twin(each.name, Path(folder))
        ran = subprocess.run(
            [
                program,
                "-d",
                folder,
                "-o",
                "json",
                "--compact",
                "--quiet",
                "--skip-download",
                *FRAMEWORKS,
            ],
            check=False,  # it exits 1 when it finds something
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
        answer = json.loads(ran.stdout)
    parts = answer if isinstance(answer, list) else [answer]
    by_file: dict[str, Counter[str]] = {each.name: Counter() for each in expectations()}
    for part in parts:
        for check in part["results"]["failed_checks"]:
            by_file[_original(check["file_path"])][check["check_id"]] += 1
    kept = {
        "version": parts[0]["summary"]["checkov_version"],
        "digest": digest(),
        "failed": {name: dict(sorted(checks.items())) for name, checks in by_file.items()},
    }
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _original(path: str) -> str:
    """The corpus file of a twin."""
    name = path.lstrip("/")
    return re.sub(r"\.twin\.(json|yaml)$", ".json", name)


def _write_twin(name: str, folder: Path) -> None:
    """Write the file itself; for a Pulumi preview, which checkov does not read, a Terraform plan and manifests."""
    target = folder / name
    target.parent.mkdir(exist_ok=True)
    text = (CORPUS / name).read_text(encoding="utf-8")
    if not name.endswith(".json") or '"steps"' not in text:
        target.write_text(_complete(text) if name.endswith(".json") else text, encoding="utf-8")
        return
    resources, manifests = [], []
    for step in json.loads(text)["steps"]:
        state = step["newState"]
        if state["type"].startswith("kubernetes:"):
            manifests.append(state["inputs"])
        else:
            resources.append(_terraform(state))
    plan = {
        "format_version": "1.2",
        "terraform_version": "1.13.3",
        "planned_values": {"root_module": {"resources": resources}},
    }
    target.with_suffix(".twin.json").write_text(_complete(json.dumps(plan)), encoding="utf-8")
    if manifests:
        target.with_suffix(".twin.yaml").write_text(yaml.safe_dump_all(manifests), encoding="utf-8")


def _complete(text: str) -> str:
    """A plan with its changes, as Terraform writes it and checkov requires it."""
    plan = json.loads(text)
    plan["resource_changes"] = [
        {
            **_header(each),
            "change": {"actions": ["create"], "before": None, "after": each["values"]},
        }
        for each in _resources(plan["planned_values"]["root_module"])
    ]
    return json.dumps(plan, indent=1)


def _resources(module: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from module.get("resources", ())
    for child in module.get("child_modules", ()):
        yield from _resources(child)


def _header(resource: Mapping[str, Any]) -> dict[str, Any]:
    return {key: resource[key] for key in ("address", "mode", "type", "name")}


def _terraform(state: Mapping[str, Any]) -> dict[str, Any]:
    """A Pulumi resource in the form of a Terraform plan."""
    provider, _, kind = state["type"].partition(":")
    wanted = f"{provider}:{kind.partition('/')[0]}/{kind.rpartition(':')[2]}"
    type_ = next(name for name, ours in KINDS.items() if ours == wanted)
    name = state["urn"].rpartition("::")[2]
    return {
        "address": f"{type_}.{name}",
        "mode": "managed",
        "type": type_,
        "name": name,
        "values": _blocks(state["inputs"]),
    }


_SINGULAR = {many: one for one, many in PLURAL.items()}
_BY_USERS = frozenset({"labels", "tags", "resourceLabels"})


def _blocks(value: Any) -> Any:
    """Fields in snake case; blocks are lists of one."""
    if isinstance(value, Mapping):
        return {
            _SINGULAR.get(key) or re.sub(r"([A-Z])", lambda m: f"_{m[1].lower()}", key): each
            if key in _BY_USERS
            else [_blocks(each)]
            if isinstance(each, Mapping)
            else _blocks(each)
            for key, each in value.items()
        }
    return [_blocks(each) for each in value] if isinstance(value, list) else value


# ── The table ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Row:
    """One category."""

    files: int = 0
    sound: int = 0
    mistakes: int = 0
    ours: int = 0
    theirs: int = 0
    alarms: int = 0
    their_alarms: int = 0
    their_all: int = 0

    def __add__(self, other: Row) -> Row:
        return Row(*(a + b for a, b in zip(self.cells(), other.cells(), strict=True)))

    def cells(self) -> tuple[int, ...]:
        """The cells in the order of the table."""
        return (
            self.files,
            self.sound,
            self.mistakes,
            self.ours,
            self.theirs,
            self.alarms,
            self.their_alarms,
            self.their_all,
        )


def row(each: Expectation, checks: Mapping[str, int]) -> Row:
    """One file's contribution to the table."""
    hits = found(each.name)
    if each.sound:
        same = sum(count for check, count in checks.items() if check in SAME_CAUSE)
        return Row(1, 1, alarms=len(hits), their_alarms=same, their_all=sum(checks.values()))
    return Row(
        files=1,
        mistakes=len(each.expected) + len(each.missed),
        ours=len(set(hits) & set(each.expected)),
        theirs=sum(_theirs(each, line, rule, checks) for line, rule in each.expected)
        + sum(
            any(check in checks for check in MISSED_BY_US.get((each.name, line), ()))
            for line, _ in each.missed
        ),
        alarms=len(set(hits) - set(each.expected)),
    )


def _theirs(each: Expectation, line: int, rule: str, checks: Mapping[str, int]) -> bool:
    if rule == "GPU-STA-01" and any(check.startswith(SECRETS) for check in checks):
        return any(
            hit.line == line and hit.rule.id == rule and "secret" in hit.diagnostic.problem
            for hit in linted(each.name).hits
        )
    return any(SAME_CAUSE.get(check) == rule for check in checks)


def table() -> tuple[dict[str, Row], Row]:
    """The rows by category, and all together."""
    failed = json.loads(KEPT.read_text(encoding="utf-8"))["failed"]
    rows: dict[str, Row] = {}
    for each in expectations():
        rows[each.category] = rows.get(each.category, Row()) + row(each, failed[each.name])
    return rows, sum(rows.values(), Row())


HEAD = """\
# `gpuyard lint` and checkov on a test corpus

This page compares `gpuyard lint` with checkov {version} on the {files} files of `tests/lint/corpus`. They follow public
blueprints and guides: {wrong} contain common mistakes, and {sound} are correct. `python benchmarks/corpus.py` generates
the page; the tests compare the rules with every file, and the page with the results.

| | files | correct | mistakes | found by gpuyard | found by checkov | false alarms: gpuyard | checkov, same causes | checkov, all |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""  # noqa: E501  a row of a table is one line
COUNTING = """
checkov has about a thousand checks for clouds and clusters, and none about GPUs. Run both.

## Method

- People who know the rules wrote the files, so {recall} is the recall on this corpus, not on your files. Mistakes were
  marked line by line before the rules ran. Afterwards some marks were moved to the line that a rule reports, and findings
  that the reviewer had overlooked and agreed with were added (`EXPECTED.yaml`).
- A mistake is one cause on one line. gpuyard has found it if the rule reports that line, with each file linted alone.
- checkov has found it if a check for the same cause fails anywhere in the file. `benchmarks/corpus.py` maps checks to
  rules; an unmapped check does not count.
- checkov reads manifests as they are, and Terraform plans with their changes. It does not read Pulumi previews, so it gets
  the same resources as a Terraform plan. It does not check values of charts and text inside a ConfigMap.
- False alarms of checkov are findings in correct files; those of gpuyard are unexpected findings in any file. "Same causes"
  counts checks that are mapped to a rule. "All" counts every failed check: most of them are valid advice on hardening
  that does not concern GPUs.

## Mistakes that gpuyard does not find

No rule covers these mistakes of the corpus, listed by file and line:

"""


def page() -> str:
    """The whole page."""
    rows, total = table()
    version = json.loads(KEPT.read_text(encoding="utf-8"))["version"]
    wrong = total.files - total.sound
    text = HEAD.format(version=version, files=total.files, wrong=wrong, sound=total.sound)
    for name, each in [*rows.items(), ("**all**", total)]:
        text += f"| {name} | {' | '.join(str(cell) for cell in each.cells())} |\n"
    text += COUNTING.format(recall=f"{total.ours} of {total.mistakes}")
    missed = [(e.name, line, what) for e in expectations() for line, what in e.missed]
    return text + "".join(f"- `{name}:{line}`: {what}\n" for name, line, what in missed)


def main() -> None:
    """Write the page, after running checkov if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkov", help="the program, from a separate environment")
    given = parser.parse_args()
    if given.checkov:
        run_checkov(given.checkov)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
