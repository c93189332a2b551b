"""A judged stack beside what is deployed."""

from dataclasses import replace

from gpuyard.changes.announced import Announced, announced
from gpuyard.changes.deployed import Stand
from gpuyard.changes.findings import change_findings
from gpuyard.findings import in_order
from gpuyard.judging import Judged
from gpuyard.render.cloud_graph import graph_of


def judged_against(judged: Judged, stand: Stand) -> tuple[Judged, Announced | None]:
    """The same with what the change takes away; nothing is compared where there is no plan."""
    if judged.plan is None:
        return judged, None
    said = announced(judged.plan, graph_of(judged.plan), stand)
    found = (*judged.findings, *change_findings(judged.plan, said))
    return replace(judged, findings=tuple(in_order(found))), said
