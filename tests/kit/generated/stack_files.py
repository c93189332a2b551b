"""Broken stack files: the golden ones with a few mutations, in their text or in their tree.

A number determines a file, so that a failure names it:
`python tests/kit/generated/stack_files.py 4711` writes that file.
"""

import copy
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
_SEVENTH = 7
_LONG = 20_000


@lru_cache
def originals() -> tuple[bytes, ...]:
    """The golden stacks and the local one, unchanged."""
    files = [ROOT / "stacks" / "Pulumi.local.yaml"]
    files += sorted((ROOT / "tests" / "golden_stacks").glob("*.yaml"))
    return tuple(path.read_bytes() for path in files)


@lru_cache
def trees() -> tuple[Any, ...]:
    """Their parsed content."""
    return tuple(yaml.load(data, Loader=yaml.CSafeLoader) for data in originals())


def mutated(number: int) -> bytes:
    """The stack file of this number."""
    rng = random.Random(number)  # noqa: S311  no secret is made of it
    which = rng.randrange(len(originals()))
    times = rng.choice((1, 1, 1, 2, 3, 5))
    if rng.random() < 1 / 3:
        data = originals()[which]
        for _ in range(times):
            data = rng.choice(_IN_TEXT)(data, rng)
        return data
    tree = copy.deepcopy(trees()[which])
    for _ in range(times):
        _in_tree(tree, rng)
    data = _written(tree, rng)
    return rng.choice(_IN_TEXT)(data, rng) if rng.randrange(_SEVENTH) == 0 else data


def _written(tree: Any, rng: random.Random) -> bytes:
    if rng.random() < 1 / 2:
        return json.dumps(tree, ensure_ascii=rng.random() < 1 / 2, default=str).encode(
            "utf-8", "surrogatepass"
        )
    text = yaml.dump(tree, Dumper=yaml.CSafeDumper, allow_unicode=rng.random() < 1 / 2)
    return str(text).encode("utf-8", "surrogatepass")


# ── text ────────────────────────────────────────────────────────────────────────────────────────

_PIECES = [
    b"null", b"~", b"-1", b"0", b"1e999", b"-0.0", b".nan", b".inf", b"-.inf", b"0x1f", b"0o17", b"1_000",
    b"1:30", b"[]", b"{}", b"''", b'"', b"'", b"true", b"yes", b"on", b"2026-11-21", b"&a ", b"*a",
    b"<<: *a", b"&a [*a]", b"!!binary x", b"!!python/object:os.system x", b"!!set {}", b"!x ", b"|\n",
    b">\n", b"? ", b": ", b":", b"- ", b"{", b"}", b"[", b"]", b"#", b"\n", b"\r", b"\t", b"\n---\n",
    b"\n...\n", b"%YAML 1.1\n", b"\x00", b"\x1b[31m", b"\x7f", b"\xff", b"\xc3", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", "\u202e".encode(), "\u2028".encode(), "é".encode(), "e\u0301".encode(),
    "\uff11\uff12".encode(),
    "×".encode(), b"secure: x", b"9..2", b"999999999999999999999", b"[red]",
]  # fmt: skip


def _piece(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    end = min(len(data), start + rng.choice((0, 0, 1, 4, 30)))
    return data[:start] + rng.choice(_PIECES) + data[end:]


def _flip(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _lines(data: bytes, rng: random.Random) -> bytes:
    """A line removed, doubled, moved, or with another indentation."""
    lines = data.split(b"\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    line = lines[at]
    match rng.randrange(_SEVENTH):
        case 0:
            del lines[at]
        case 1:
            lines.insert(to, line)
        case 2:
            lines[at], lines[to] = lines[to], line
        case 3:
            lines[at] = b"  " + line
        case 4:
            lines[at] = line.removeprefix(b"  ")
        case 5:
            lines[at] = b"\t" + line.lstrip()
        case _:
            lines[at] = line.partition(b":")[0] + b":"
    return b"\n".join(lines)


_IN_TEXT: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _piece,
    _piece,
    _flip,
    _cut,
    _lines,
    _lines,
)

# ── tree ────────────────────────────────────────────────────────────────────────────────────────

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf"), 10**30,
    -(10**18), 2**31, 2**63, "", " ", "none", "0", "-1..3", "3..1", "0..0", "1..1000000000", "..",
    "a" * _LONG, "a" * 64, "x/y/z", "/", "train/", "/shared", "\u202e", "\x1b[31m", "\x00", "é", "e\u0301",
    "\uff11\uff12", "a\nb", "İ", "\U0001f600", "p5.48xlarge", "P5.48XLARGE", "a3-ultragpu-8g",
    "1g.5gb", "7g.80gb",
    "dra", "spot", "karpenter", "secure", [], {}, [[]], [{}], [None], {"": None}, {"mode": "spot"},
    {"mig": {"1g.5gb": 7}}, {"time_slicing": 49}, {"mps": 2}, {"secure": "v1:x"}, {"gpu": "H100", "gpus": 8,
    "cpu": 1, "memory_gib": 1}, ["spot", "spot"], [1, "a", None, {}], {"a": {"b": {"c": {"d": 1}}}},
    ["x"] * 200,
)  # fmt: skip
_KEYS = (
    "name", "machine", "nodes", "capacity", "scaling", "zones", "sharing", "labels", "select", "owners",
    "keep_warm", "fabric", "image", "numa", "disk_gib", "previous_names", "guarantee", "borrow", "lend", "weight",
    "isolation", "priority", "groups", "pools", "teams", "shapes", "cloud", "kubernetes", "system",
    "queueing", "budget", "prices", "targets", "cluster", "approved_changes", "apply", "policies", "mirror", "tags",
    "admission", "addons", "workloads", "storage", "observability", "software", "priorities", "validation",
    "nam", "Name", "", " ", "mig", "gpus", "1g.5gb", "é", "x" * 300, "secure",
)  # fmt: skip


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every place of a tree, as its container and the key or index in it."""
    results: list[tuple[Any, Any]] = []
    todo, seen = [tree], set[int]()
    while todo:
        holder = todo.pop()
        if not isinstance(holder, dict | list) or id(holder) in seen:
            continue
        seen.add(id(holder))
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        results += [(holder, key) for key in keys]
        todo += [holder[key] for key in keys]
    return results


@lru_cache
def _namesakes() -> dict[Any, list[Any]]:
    """By key, every value that it has in any stack: most likely well-formed, but in the wrong place."""
    results: dict[Any, list[Any]] = defaultdict(lambda: [None])
    for tree in trees():
        for holder, key in _places(tree):
            if isinstance(holder, dict):
                results[key].append(holder[key])
    return results


def _in_tree(tree: Any, rng: random.Random) -> None:  # noqa: C901  one case for each kind of damage
    """One place deleted, doubled, given another type, nested, moved or renamed."""
    places = _places(tree)
    if not places:
        return
    holder, key = rng.choice(places)
    value = holder[key]
    match rng.randrange(12):
        case 0:
            del holder[key]
        case 1:
            _added(holder, copy.deepcopy(value), rng)
        case 2 | 3:
            holder[key] = copy.deepcopy(rng.choice(_VALUES))
        case 4 | 5:
            holder[key] = (
                copy.deepcopy(rng.choice(_namesakes()[key])) if type(key) is str else value
            )
        case 6:
            holder[key] = rng.choice(([value], {"x": value}, [[value]], {rng.choice(_KEYS): value}))
        case 7:
            other, where = rng.choice(places)
            holder[key] = copy.deepcopy(other[where]) if where in _keys(other) else None
        case 8:
            _added(holder, copy.deepcopy(rng.choice(_VALUES)), rng)
        case 9:
            holder[key] = _other(value, rng)
        case 10:
            _renamed(holder, key, rng)
        case _:
            holder[key] = _deep(value, rng.choice((3, 30, 59, 90)))


def _keys(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def _added(holder: Any, value: Any, rng: random.Random) -> None:
    if isinstance(holder, dict):
        holder[rng.choice(_KEYS)] = value
    else:
        holder.insert(rng.randrange(len(holder) + 1), value)


def _renamed(holder: Any, key: Any, rng: random.Random) -> None:
    if isinstance(holder, dict):
        new = rng.choice((rng.choice(_KEYS), f"{key}x", str(key)[:-1], str(key).upper()))
        holder[new] = holder.pop(key)
    else:
        holder.reverse()


def _other(value: Any, rng: random.Random) -> Any:
    """A value of the same kind, a little or very different."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice(
            (-value, value + 1, value * 10, value * 10**9, value / 3, str(value), [value])
        )
    if isinstance(value, str):
        doubled = value + value
        return rng.choice(
            (doubled, value[:-1], value.upper(), f" {value}", value[::-1], value.replace("-", "_"))
        )
    if isinstance(value, list):
        return rng.choice((value * 3, value[:1], value[::-1], dict.fromkeys(map(str, value))))
    return list(value.items()) if isinstance(value, dict) else "null"


def _deep(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


if __name__ == "__main__":
    sys.stdout.buffer.write(mutated(int(sys.argv[1])))
