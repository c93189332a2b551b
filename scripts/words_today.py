"""The implementation status of each stack file field: docs/reference/today.md, from the models and the plan.

`make golden` writes it. A field is `in effect` only if tests/plan/test_unimplemented.py finds code that reads
it, and not in effect only if `gpuyard check` reports the same for a stack that uses it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuyard.plan import unimplemented
from gpuyard.spec.base import SpecModel
from gpuyard.spec.meanings import field_meanings
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.teams import Team
from reference import words

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "today.md"
HEAD = """\
# Implementation status of stack file fields

For users who want to know which fields `pulumi up` already carries out. Generated from the models and
from the findings of `gpuyard check` (`make golden`).

- `in effect`: validated, part of the plan, and deployed by `pulumi up`.
- `on aws and gcp`: in effect where gpuyard creates clusters and nodes; not on a simulated cluster or on
  your own (`cloud: none`).
- `planned`: validated and part of the plan, but not deployed.
- `nothing`: read, without effect.

[The reference](stack-file.md) describes the fields.
"""
TABLES: tuple[tuple[str, type[SpecModel], Mapping[str, str], Mapping[str, str]], ...] = (
    ("The platform", PlatformSpec, unimplemented.PLANNED, unimplemented.NO_EFFECT),
    ("A pool", Pool, unimplemented.POOL_PLANNED, unimplemented.POOL_NOTHING),
    ("A team", Team, {}, {}),
)


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_table(*each) for each in TABLES)


def _table(
    title: str, model: type[SpecModel], planned: Mapping[str, str], nothing: Mapping[str, str]
) -> str:
    rows = "".join(f"{row}\n" for row in _rows(model, planned, nothing))
    return f"\n## {title}\n\n| field | status | |\n|---|---|---|\n{rows}"


def _rows(
    model: type[SpecModel], planned: Mapping[str, str], nothing: Mapping[str, str]
) -> Iterator[str]:
    meanings = field_meanings(model)
    for name in model.model_fields:
        if name in unimplemented.CLOUD_ONLY_FIELDS:
            lacks = words({**planned, **nothing}[name])
            yield f"| `{name}` | on aws and gcp | Elsewhere: {lacks} |"
        elif name in planned:
            yield f"| `{name}` | planned | {words(planned[name])} |"
        elif name in nothing:
            yield f"| `{name}` | nothing | {words(nothing[name])} |"
        else:
            meaning = words(meanings[name]).partition(". ")[0].removesuffix(".")
            yield f"| `{name}` | in effect | {meaning} |"
