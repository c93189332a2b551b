"""A team: its namespaces, access, quota and queue."""

from typing import NotRequired

import pulumi

from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.sharing.dra import installs_dra_driver
from gpuyard.render.storage import storage_objects
from gpuyard.render.teams import team_objects
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.part_args import (
    LateValues,
    Part,
    PartArgs,
    TeamLike,
    own_part,
    read_part,
    read_stores,
    sections,
)
from gpuyard.resources.state import spec_without_defaults
from gpuyard_core.names import COMPUTE_DOMAINS_GROUP

_PART = Part(
    "Team",
    ("priorities", "storage"),
    own="team",
    required=("team", "pools"),
    optional=("stores",),
)


class TeamArgs(PartArgs):
    """Arguments of a Team: a platform and the name of the team, or the team and the pools that it uses."""

    team: TeamLike
    """The team, or the name of one of `teams`; it is validated together with those that share its pools."""
    priorities: NotRequired[dict[str, int]]
    """Job priorities by name, larger numbers first. Default: none."""
    storage: NotRequired[sections.Storage]
    """Shared storage for datasets and checkpoints. Default: none."""
    stores: NotRequired[LateValues]
    """Locations of the platform's storage, by the names that its volumes use: {data-corpus.handle:
    …}; the output `stores` of the EksCluster, GkeCluster or Storage.
    """


class Team(Component):
    """A team's namespaces, access, quota and queue.

    Queueing creates its ClusterQueue: add the Queueing component to `depends_on`.
    """

    namespaces: pulumi.Output[list[str]]
    """The team's namespaces, the home namespace first."""
    local_queue: pulumi.Output[str]
    """The LocalQueue in each namespace, the default for jobs that name no queue; with Volcano, the team's Queue."""
    cluster_queue: pulumi.Output[str]
    """The ClusterQueue with the team's guarantee; with Volcano, its Queue."""

    def __init__(
        self,
        name: str,
        args: TeamArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        proof, values = read_part(_PART, name, args, opts)
        plan = proof.plan
        team = own_part(name, "team", values["team"], plan.teams)
        spec = next(one for one in plan.spec.teams if one.name == team.name)
        volumes = storage_objects(plan, team)
        what = f"{name}: the storage locations of {team.name}"
        stores = read_stores(what, values, volumes, proof.late_inputs)
        state = {"platform": plan.name, "team": spec_without_defaults(spec)}
        super().__init__("gpuyard:index:Team", name, state, opts, plan)
        if installs_dra_driver(plan.spec):
            self._expect(
                COMPUTE_DOMAINS_GROUP
            )  # served some time after the operator's chart is installed
        self._register(team_objects(plan, team))
        self._register(volumes, stores)
        names = [space.name for space in team.namespaces]
        volcano = uses_volcano(plan.spec)
        queue = team.cluster_queue if volcano else team.local_queue
        queues = (self._object("LocalQueue", queue, name) for name in names if not volcano)
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
