"""A team: its namespaces, access, quota and queue."""

from typing import NotRequired, TypedDict

import pulumi

from gpuyard.errors import OutputValueMissing
from gpuyard.findings import format_list
from gpuyard.names import COMPUTE_DOMAINS_GROUP
from gpuyard.plan.records.late import unresolved_output_names
from gpuyard.plan.sharing.claims import installs_dra_driver
from gpuyard.render.storage import storage_objects
from gpuyard.render.teams import team_objects
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.errors import PlatformRejected, unknown_name
from gpuyard.resources.state import spec_without_defaults
from gpuyard.resources.validated_plan import PlatformLike, read_args, validate_platform


class TeamArgs(TypedDict):
    """Arguments of a Team."""

    platform: PlatformLike
    """The complete platform: a team is validated together with the teams that share its pools."""
    team: str
    """The name of the team in it."""
    stores: NotRequired[dict[str, pulumi.Input[str]]]
    """Locations of the platform's storage, by the names that its volumes use: {data-corpus.handle:
    …}; the output `stores` of the EksCluster or GkeCluster.
    """


class Team(Component):
    """A team's namespaces, access, quota and queue.

    Queueing creates its ClusterQueue: add the Queueing component to `depends_on`.
    """

    namespaces: pulumi.Output[list[str]]
    """The team's namespaces, the home namespace first."""
    local_queue: pulumi.Output[str]
    """The LocalQueue in each namespace, the default for jobs that name no queue."""
    cluster_queue: pulumi.Output[str]
    """The ClusterQueue with the team's guarantee."""

    def __init__(
        self,
        name: str,
        args: TeamArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        values = read_args("Team", args, required=("platform", "team"), optional=("stores",))
        proof = validate_platform(values["platform"])
        plan = proof.plan
        if values["team"] not in (known := [team.name for team in plan.teams]):
            raise PlatformRejected(name, [unknown_name("team", values["team"], known)])
        team = plan.team(values["team"])
        spec = next(one for one in plan.spec.teams if one.name == team.name)
        volumes, stores = (
            storage_objects(plan, team),
            {**proof.late_inputs, **(values.get("stores") or {})},
        )
        if missing := sorted(unresolved_output_names(volumes) - stores.keys()):
            raise OutputValueMissing(
                f"{name}: the storage locations of {team.name} are missing: set "
                f"{format_list(missing)} in `stores`"
            )
        state = {"platform": plan.name, "team": spec_without_defaults(spec)}
        super().__init__("gpuyard:index:Team", name, state, opts)
        if installs_dra_driver(plan.spec):
            self._expect(
                COMPUTE_DOMAINS_GROUP
            )  # served some time after the operator's chart is installed
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
