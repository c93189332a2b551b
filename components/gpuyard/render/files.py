"""A platform as files, for whoever applies them: plain, diffable, the same bytes for the same spec."""

from collections.abc import Mapping
from typing import Any

from gpuyard.errors import LateValueMissing
from gpuyard.plan.late import bind
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.platform import object_groups
from gpuyard.render.text import yaml_documents


def render_files(plan: PlatformPlan, values: Mapping[str, object]) -> dict[str, str]:
    """File name to text; the names sort in the order in which the files are to be applied."""

    def known(name: str) -> Any:
        if name not in values:
            raise LateValueMissing(
                f"the value of `{name}` exists only once the cluster does:"
                f" give it with --values FILE, as `{name}: …`"
            )
        return values[name]

    groups = object_groups(plan)
    digits = max(3, len(str(len(groups))))
    return {
        f"{number:0{digits}d}-{group}.yaml": yaml_documents(bind(objects, known))
        for number, (group, objects) in enumerate(groups)
    }
