"""Queueing component: cluster-wide queue objects and the queues of all teams."""

from typing import NotRequired

import pulumi

from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.render.kueue.chart import kueue_objects, kueue_readiness_service, kueue_release
from gpuyard.render.kueue.queueing import queueing_objects
from gpuyard.render.volcano.chart import volcano_objects, volcano_release
from gpuyard.render.volcano.queues import volcano_queue_objects
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.part_args import Part, PartArgs, read_part, sections
from gpuyard.resources.state import spec_without_defaults
from gpuyard.spec.sections import Apply
from gpuyard_core.names import KUEUE_GROUP, VOLCANO_GROUP

_PART = Part("Queueing", ("queueing", "priorities"))


class QueueingArgs(PartArgs):
    """Arguments of a Queueing: a platform, or its pools and teams."""

    queueing: NotRequired[sections.Queueing]
    """Job queueing with Kueue. Default: the default of each field."""
    priorities: NotRequired[dict[str, int]]
    """Job priorities by name, larger numbers first. Default: none."""


class Queueing(Component):
    """Kueue with its cluster-wide objects: ResourceFlavors, cohorts and ClusterQueues; or Volcano with its Queues.

    Kueue's chart installs its CRDs and the controller, which is ready before the first object is
    created; a destroy runs in reverse order, so that the controller can remove its finalizers. With
    `install: false` Kueue must exist: if the same program installs it, add it to `depends_on`.
    """

    flavors: pulumi.Output[dict[str, str]]
    """The ResourceFlavor of each pool, by pool name; none with Volcano."""
    queues: pulumi.Output[dict[str, str]]
    """The queue of each team, by team name."""

    def __init__(
        self,
        name: str,
        args: QueueingArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        proof, _ = read_part(_PART, name, args, opts)
        plan = proof.plan
        state = {"platform": plan.name, "queueing": spec_without_defaults(plan.spec.queueing)}
        super().__init__("gpuyard:index:Queueing", name, state, opts, plan)
        volcano = uses_volcano(plan.spec)
        self._kind = "Queue" if volcano else "ClusterQueue"
        namespace = self._register(volcano_objects(plan) if volcano else kueue_objects(plan))
        release = volcano_release(plan) if volcano else kueue_release(plan)
        if release is not None:
            chart = self._register_chart(plan, release, namespace)
            if plan.spec.apply is not Apply.RENDER:
                # Objects wait until a manager answers and the API server serves their kind.
                self._expect(VOLCANO_GROUP if volcano else KUEUE_GROUP)
                self._waits_for = self._after([chart])
                if not volcano:
                    self._waits_for = self._after(self._register([kueue_readiness_service(plan)]))
        self._register(volcano_queue_objects(plan) if volcano else queueing_objects(plan))
        self.flavors = pulumi.Output.from_input({})
        if not volcano:
            self.flavors = pulumi.Output.all(
                **{
                    each.name: after_created(
                        each.flavor, self._object("ResourceFlavor", each.flavor)
                    )
                    for each in plan.pools
                }
            )
        self.queues = pulumi.Output.all(
            **{
                team.name: after_created(team.cluster_queue, self.cluster_queue(team.cluster_queue))
                for team in plan.teams
            }
        )
        self.register_outputs({"flavors": self.flavors, "queues": self.queues})

    def cluster_queue(self, name: str) -> pulumi.CustomResource:
        """The resource of a team's queue, for resources that depend on it."""
        return self._object(self._kind, name)
