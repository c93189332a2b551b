"""What each word of a stack file does today: docs/reference/today.md, from the models and the plan's notes.

`make golden` writes it. A word is said to have an effect only if tests/plan/test_unimplemented.py finds code that
reads it, and to have none only if `gpuyard check` says the same of a stack that has it.
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
# What each word of a stack file does today

Made from the models and from what `gpuyard check` says of each word (`make golden`).

- `in effect`: checked, part of the plan, and in what `pulumi up` makes.
- `on aws and gcp`: in effect there, where clusters and nodes are made; not on a simulated cluster, nor on
  one of your own (`cloud: none`).
- `planned`: checked and part of the plan, not carried out.
- `nothing`: read and kept.

What the fields mean is in [the reference](stack-file.md).
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
    return f"\n## {title}\n\n| word | today | |\n|---|---|---|\n{rows}"


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
