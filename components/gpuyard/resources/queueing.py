"""Queueing component: what all teams' queues have in common, and the queues."""

from typing import TypedDict

import pulumi

from gpuyard.names import KUEUE_GROUP
from gpuyard.render.kueue.chart import (
    kueue_answers,
    kueue_objects,
    kueue_release,
    kueue_release_object,
)
from gpuyard.render.kueue.queueing import queueing_objects
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.plan_cache import PlatformLike, read_args, validate_platform
from gpuyard.resources.state import state_of
from gpuyard.spec.sections import Apply


class QueueingArgs(TypedDict):
    """What a Queueing is given."""

    platform: PlatformLike
    """The whole platform."""


class Queueing(Component):
    """Kueue, and its cluster-wide objects: a flavor for each pool, the cohorts, a queue for each team.

    Kueue's chart brings its custom resources, then the controller, and is ready before the first of the
    objects is made; a destroy goes the other way, so that the controller can take its finalizers off. With
    `install: false` Kueue must be there: where the same program makes it, put it in `depends_on`.
    """

    flavors: pulumi.Output[dict[str, str]]
    """The flavor of each pool, by the pool's name."""
    queues: pulumi.Output[dict[str, str]]
    """The cluster queue of each team, by the team's name."""

    def __init__(
        self,
        name: str,
        args: QueueingArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        values = read_args("Queueing", args, required=("platform",))
        plan = validate_platform(values["platform"]).plan
        state = {"platform": plan.name, "queueing": state_of(plan.spec.queueing)}
        super().__init__("gpuyard:index:Queueing", name, state, opts)
        self._register(kueue_objects(plan))
        release = kueue_release(plan)
        if release is not None and plan.spec.apply is Apply.RENDER:
            self._register([kueue_release_object(plan, release)])
        elif release is not None:
            self._install(release, kueue_answers(plan), KUEUE_GROUP)
        self._register(queueing_objects(plan))
        self.flavors = pulumi.Output.all(
            **{
                pool.name: after_created(pool.flavor, self._object("ResourceFlavor", pool.flavor))
                for pool in plan.pools
            }
        )
        self.queues = pulumi.Output.all(
            **{
                team.name: after_created(
                    team.cluster_queue, self._object("ClusterQueue", team.cluster_queue)
                )
                for team in plan.teams
            }
        )
        self.register_outputs({"flavors": self.flavors, "queues": self.queues})

    def cluster_queue(self, name: str) -> pulumi.CustomResource:
        """The resource of a cluster queue, for what must wait for it."""
        return self._object("ClusterQueue", name)
