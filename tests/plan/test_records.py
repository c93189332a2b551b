"""The records of a plan: which of their derived figures a plan's document shows, and which are for code."""

from dataclasses import dataclass

from gpuyard.plan import records
from gpuyard_core.displayed import displayed, displayed_figures
from gpuyard_core.terminal.documents import tree
from kit.stacks import plan_of, platform

SHOWN = {
    "Bill": [
        "priced_in",
        "elsewhere",
        "minimum_usd_per_hour",
        "expected_usd_per_hour",
        "maximum_usd_per_hour",
        "unknown",
    ],
    "BillLine": ["minimum_usd_per_hour", "expected_usd_per_hour", "maximum_usd_per_hour"],
    "CommitmentLine": [
        "break_even_percent",
        "idle_min_usd",
        "idle_expected_usd",
        "idle_max_usd",
    ],
    "PoolPlan": ["counted_resources", "cpu_per_gpu", "memory_gib_per_gpu", "gpus_per_node"],
    "QueueingPlan": ["unassigned"],
    "TeamPlan": ["has_default"],
    "Total": ["usd"],
}
"""Who reads the JSON of a plan relies on them: adding one is a decision, losing one breaks a program."""


@dataclass(frozen=True)
class Made:
    width: int

    @property
    @displayed
    def area(self) -> int:
        return self.width**2

    @property
    def is_wide(self) -> bool:
        return self.width > 1


def test_the_document_of_a_plan_shows_these_figures_beside_the_fields_and_no_others():
    kinds = [kind for kind in vars(records).values() if isinstance(kind, type)]
    found = {kind.__name__: displayed_figures(kind) for kind in kinds}
    assert {name: names for name, names in found.items() if names} == SHOWN


def test_a_property_is_shown_only_where_it_is_marked():
    assert tree(Made(3)) == {"width": 3, "area": 9}


def test_a_question_asked_of_a_plan_adds_nothing_to_its_document():
    plan = plan_of(platform(cloud="simulated"))
    assert plan.simulated
    assert "simulated" not in tree(plan)
    assert not plan_of(platform()).simulated
