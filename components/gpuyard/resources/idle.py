"""Idle reclaim: the program that warns and suspends, its rights in each team's namespace, its schedule."""

from typing import TypedDict

import pulumi

from gpuyard.names import IDLE, system_namespace
from gpuyard.render.idle import idle_objects
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.plan_cache import PlatformLike, read_args, validate_platform
from gpuyard.resources.state import state_of


class IdleReclaimArgs(TypedDict):
    """What an IdleReclaim is given."""

    platform: PlatformLike
    """The whole platform; what its teams say under `idle` counts."""


class IdleReclaim(Component):
    """Looks at every team that asks for it every few minutes; nothing is made when none does.

    The platform's and the teams' namespaces must be there: put what makes them in `depends_on`.
    """

    teams: pulumi.Output[list[str]]
    """The teams that it looks at, once it does."""

    def __init__(
        self,
        name: str,
        args: IdleReclaimArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        values = read_args("IdleReclaim", args, required=("platform",))
        plan = validate_platform(values["platform"]).plan
        idle_by_team = {team.name: state_of(team.idle) for team in plan.spec.teams if team.idle}
        super().__init__(
            "gpuyard:index:IdleReclaim", name, {"platform": plan.name, "idle": idle_by_team}, opts
        )
        self._register(idle_objects(plan))
        names = list(idle_by_team)
        self.teams = (
            after_created(names, self._object("CronJob", IDLE, system_namespace(plan.name)))
            if names
            else pulumi.Output.from_input(names)
        )
        self.register_outputs({"teams": self.teams})
