"""A team: where its people work, and what they may use."""

from typing import NotRequired, TypedDict

import pulumi

from gpuyard.errors import LateValueMissing
from gpuyard.findings import format_list
from gpuyard.names import COMPUTE_DOMAINS_GROUP
from gpuyard.plan.records.late import late_names
from gpuyard.plan.sharing.claims import serves_claims
from gpuyard.render.storage import storage_objects
from gpuyard.render.teams import team_objects
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.errors import PlatformRejected, unknown_name
from gpuyard.resources.plan_cache import PlatformLike, read_args, validate_platform
from gpuyard.resources.state import state_of


class TeamArgs(TypedDict):
    """What a Team is given."""

    platform: PlatformLike
    """The whole platform: a team is proved with everybody it shares pools with."""
    team: str
    """The name of the team in it."""
    stores: NotRequired[dict[str, pulumi.Input[str]]]
    """Where the platform's storage is, by the names that its volumes have for it: {data-corpus.handle: …}."""


class Team(Component):
    """A team's namespaces, access, quota and queue.

    Its cluster queue is made by Queueing: put that in `depends_on`.
    """

    namespaces: pulumi.Output[list[str]]
    """Where the team's jobs run, its home first."""
    local_queue: pulumi.Output[str]
    """The queue in each of them; jobs that name none get it."""
    cluster_queue: pulumi.Output[str]
    """The cluster queue that holds the team's guarantee."""

    def __init__(
        self,
        name: str,
        args: TeamArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        values = read_args("Team", args, required=("platform", "team"), optional=("stores",))
        plan = validate_platform(values["platform"]).plan
        if values["team"] not in (known := [team.name for team in plan.teams]):
            raise PlatformRejected(name, [unknown_name("team", values["team"], known)])
        team = plan.team(values["team"])
        spec = next(one for one in plan.spec.teams if one.name == team.name)
        volumes, stores = storage_objects(plan, team), values.get("stores") or {}
        if missing := sorted(late_names(volumes) - stores.keys()):
            raise LateValueMissing(
                f"{name}: where the storage of {team.name} is, nobody says: give `stores` {format_list(missing)}"
            )
        state = {"platform": plan.name, "team": state_of(spec)}
        super().__init__("gpuyard:index:Team", name, state, opts)
        if serves_claims(plan.spec):
            self._expect(COMPUTE_DOMAINS_GROUP)  # a while after the operator's chart is there
        self._register(team_objects(plan, team))
        self._register(volumes, stores)
        names = [space.name for space in team.namespaces]
        queue = team.local_queue
        queues = (self._object("LocalQueue", queue, name) for name in names)
        self.namespaces = after_created(names, *(self._object("Namespace", name) for name in names))
        self.local_queue = after_created(queue, *queues)
        self.cluster_queue = pulumi.Output.from_input(team.cluster_queue)
        self.register_outputs(
            {
                "namespaces": self.namespaces,
                "localQueue": self.local_queue,
                "clusterQueue": self.cluster_queue,
            }
        )
