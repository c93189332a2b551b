"""IdleReclaim component: the CronJob that warns and suspends, and its RBAC in each team's namespaces."""

import pulumi

from gpuyard.render.idle import idle_objects
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.part_args import Part, PartArgs, read_part
from gpuyard.resources.state import spec_without_defaults
from gpuyard_core.names import IDLE, system_namespace

_PART = Part("IdleReclaim")


class IdleReclaimArgs(PartArgs):
    """Arguments of an IdleReclaim: a platform, or its pools and teams with their `idle` settings."""


class IdleReclaim(Component):
    """Checks the GPU use of every team with `idle` every few minutes; creates nothing if no team sets it.

    The namespaces of the platform and of the teams must exist: add the components that create them
    to `depends_on`.
    """

    teams: pulumi.Output[list[str]]
    """The teams whose workloads it checks, available once its CronJob exists."""

    def __init__(
        self,
        name: str,
        args: IdleReclaimArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        proof, _ = read_part(_PART, name, args, opts)
        plan = proof.plan
        idle_by_team = {
            team.name: spec_without_defaults(team.idle) for team in plan.spec.teams if team.idle
        }
        super().__init__(
            "gpuyard:index:IdleReclaim",
            name,
            {"platform": plan.name, "idle": idle_by_team},
            opts,
            plan,
        )
        self._register(idle_objects(plan))
        names = list(idle_by_team)
        self.teams = (
            after_created(names, self._object("CronJob", IDLE, system_namespace(plan.name)))
            if names
            else pulumi.Output.from_input(names)
        )
        self.register_outputs({"teams": self.teams})
