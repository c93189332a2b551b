"""A platform as files to apply with other tools: plain, diffable, the same bytes for the same spec.

Numbers define the order. A chart is a folder with the number of the objects it needs first: its
contents are for Helm, not for `kubectl apply`, which skips folders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import resolve_outputs, unresolved_output_names
from gpuyard.render.charts import Release, release_text
from gpuyard.render.platform import object_groups, releases
from gpuyard.render.text import yaml_documents
from gpuyard_core.errors import OutputValueMissing


def render_files(plan: PlatformPlan, values: Mapping[str, object]) -> dict[str, str]:
    """File name to text; the names sort in the order in which to apply the files."""
    groups, charts = object_groups(plan), releases(plan)
    _all_known(_waits_for(groups, charts), values)
    known = values.__getitem__
    digits = max(3, len(str(len(groups))))
    files: dict[str, str] = {}
    for number, (group, objects) in enumerate(groups):
        name = f"{number:0{digits}d}-{group}"
        if objects or group not in charts:
            files[f"{name}.yaml"] = yaml_documents(resolve_outputs(objects, known))
        if group in charts:
            release = replace(
                charts[group], values=resolve_outputs(dict(charts[group].values), known)
            )
            files |= {f"{name}/{file}": text for file, text in release_text(release).items()}
    return files


def late_values(plan: PlatformPlan) -> list[str]:
    """The names of all late values that the files need."""
    return _waits_for(object_groups(plan), releases(plan))


def _waits_for(groups: Sequence[tuple[str, object]], charts: Mapping[str, Release]) -> list[str]:
    tree = [[objects for _, objects in groups], [c.values for c in charts.values()]]
    return sorted(unresolved_output_names(tree))


def _all_known(needed: Sequence[str], values: Mapping[str, object]) -> None:
    """Raises LateValueMissing with the name of every late value that is needed and missing."""
    names = [name for name in needed if name not in values]
    if not names:
        return
    shown = ", ".join(f"`{name}`" for name in names)
    it, verb, them = ("value", "exists", "it") if len(names) == 1 else ("values", "exist", "them")
    raise OutputValueMissing(
        f"the {it} of {shown} {verb} only when the cluster exists: pass {them} with --values "
        f"FILE, as `{names[0]}: …`"
    )
