"""GpuOperator component: the operator's chart, or what another's operator is to read."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import pulumi

from gpuyard.changes.carried import with_carried
from gpuyard.changes.platforms import exchanged_pools
from gpuyard.names import DRA_DRIVER_RELEASE, OPERATOR_RELEASE
from gpuyard.plan.sharing.claims import installs_claims
from gpuyard.plan.software.gpu_operator import config_map_names
from gpuyard.render.charts import release_object
from gpuyard.render.gpu_operator.dra_driver import dra_driver_release
from gpuyard.render.gpu_operator.objects import gpu_operator_objects, operator_namespace
from gpuyard.render.gpu_operator.values import gpu_operator_release
from gpuyard.resources.clusters.guarding import last_state
from gpuyard.resources.component import Component, once_made
from gpuyard.resources.gpu_operator.driver_hooks import telling_hooks
from gpuyard.resources.gpu_operator.exchanging import Exchange
from gpuyard.resources.gpu_operator.looking import tell_of_another
from gpuyard.resources.proofs import PlatformLike, prove, read_args
from gpuyard.resources.releases import register_release
from gpuyard.resources.state import state_of
from gpuyard.spec.sections import Apply

if TYPE_CHECKING:
    from gpuyard.plan.records import PlatformPlan

NOTHING_EXCHANGED = Exchange()
_Object = Mapping[str, Any]


class GpuOperatorArgs(TypedDict):
    """What a GpuOperator is given."""

    platform: PlatformLike
    """The whole platform."""


class GpuOperator(Component):
    """The GPU Operator: its namespace, what its agents read there, and its chart with values of the plan.

    Helm is not asked to wait: nodes may come later, and the operator looks for them all the time. With
    `install: false` the operator is another's: two ConfigMaps are put beside it, and each preview and each
    `up` says which of its values do not fit. Nothing of it is changed, and nothing of it goes.
    """

    configurations: pulumi.Output[dict[str, str]]
    """The ConfigMaps that the operator's agents read, by agent: migManager, devicePlugin."""

    def __init__(
        self,
        name: str,
        args: GpuOperatorArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        exchange: Exchange = NOTHING_EXCHANGED,
    ) -> None:
        """`exchange`: which pools get another driver in this deployment, and which of them wait."""
        given = read_args("GpuOperator", args, required=("platform",))
        plan = prove(given["platform"]).plan
        state = {"platform": plan.name, "gpuOperator": state_of(plan.spec.gpu_operator)}
        super().__init__("gpuyard:index:GpuOperator", name, state, opts)
        self._telling = self._telling_hooks(name, plan, exchange)
        self._plan = plan
        stand = last_state() if self._ours is not None else None
        objects = gpu_operator_objects(plan)
        told, beside = _apart(with_carried(objects, stand) if stand else objects)
        made = self._register(beside)
        made += (policy := self._register(told, first=self._telling))
        self.chart = self._install_chart(plan, made)
        self.told = policy or self.chart
        """What says which driver comes."""
        if self._ours is not None and self._ours.looks is not None:
            tell_of_another(self._ours.looks, plan)
        mig, plugin = config_map_names(plan.spec)
        names: dict[str, str] = {"migManager": mig, "devicePlugin": plugin}
        reads = bool(made) and not installs_claims(plan.spec)
        self.configurations = once_made(names if reads else {}, *made)
        self.register_outputs({"configurations": self.configurations})

    def _telling_hooks(
        self, name: str, plan: "PlatformPlan", exchange: Exchange
    ) -> pulumi.ResourceHookBinding | None:
        """Made once: the engine knows each hook by its name, and takes none twice."""
        looks = self._ours.looks if self._ours is not None else None
        if looks is None or not exchanged_pools(plan):
            return None
        return telling_hooks(name, looks, plan, exchange)

    def _install_chart(
        self, plan: "PlatformPlan", made: list[pulumi.CustomResource]
    ) -> list[pulumi.CustomResource]:
        charts = {
            OPERATOR_RELEASE: gpu_operator_release(plan),
            DRA_DRIVER_RELEASE: dra_driver_release(plan),
        }
        installed: list[pulumi.CustomResource] = []
        for name, release in charts.items():
            if release is None:
                continue
            if plan.spec.apply is Apply.RENDER:
                installed += self._register([release_object(plan.name, name, release)])
            else:
                opts = self._hooked(self._after(made))
                if name == OPERATOR_RELEASE and self._telling is not None:
                    told = pulumi.ResourceOptions(hooks=self._telling)
                    opts = pulumi.ResourceOptions.merge(opts, told)
                installed.append(register_release(self, release, opts))
        return installed

    def read_by_agents(self) -> list[pulumi.CustomResource]:
        """What a node agent starts with; nodes wait for it."""
        space = operator_namespace(self._plan)
        read = () if installs_claims(self._plan.spec) else config_map_names(self._plan.spec)
        return [self._object("ConfigMap", each, space) for each in read]


def _apart(objects: Sequence[_Object]) -> tuple[list[_Object], list[_Object]]:
    """The policy, by which fakes are told which driver comes, and everything beside it."""
    told = [each for each in objects if each["kind"] == "ClusterPolicy"]
    return told, [each for each in objects if each["kind"] != "ClusterPolicy"]
