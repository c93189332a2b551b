"""Claims of a team's jobs for GPUs: a template for each shape with quota, and its NVLink domain.

A job sets the template in `resourceClaimTemplateName`. Pods of a shape that spans several machines
of a rack also name the channel template, which the DRA driver creates from the ComputeDomain.
"""

from gpuyard.plan.records import NamespacePlan, PlatformPlan, ShapePlan, TeamPlan
from gpuyard.plan.sharing.dra import installs_dra_driver
from gpuyard.render.objects import Object, managed_object
from gpuyard_core.catalogue.kubernetes.claims import GPU_CLASS
from gpuyard_core.names import CHANNEL_SUFFIX, COMPUTE_DOMAINS_GROUP

REQUEST = "gpus"
"""Name of the only request of a claim."""


def claim_objects(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> list[Object]:
    """The objects of one namespace; none if the team claims no GPUs."""
    claimed = {pool.name: pool.dra for pool in plan.pools if pool.dra}
    shapes = [s for s in plan.shapes if s.pool in claimed and team.name in s.teams]
    domains = [
        _domain(plan, space, shape)
        for shape in shapes
        if shape.nodes > 1
        and claimed[shape.pool].compute_domains
        and installs_dra_driver(plan.spec)
    ]
    return [*(_template(plan, space, shape) for shape in shapes), *domains]


def _template(plan: PlatformPlan, space: NamespacePlan, shape: ShapePlan) -> Object:
    exactly = {
        "deviceClassName": GPU_CLASS,
        "allocationMode": "ExactCount",
        "count": shape.per_node,
    }
    return managed_object(
        plan.name,
        "resource.k8s.io/v1",
        "ResourceClaimTemplate",
        shape.name,
        namespace=space.name,
        spec={"spec": {"devices": {"requests": [{"name": REQUEST, "exactly": exactly}]}}},
    )


def _domain(plan: PlatformPlan, space: NamespacePlan, shape: ShapePlan) -> Object:
    """Without a number of nodes: pods join as they start, and the field is deprecated (v0.5.0)."""
    channel = {
        "allocationMode": "Single",
        "resourceClaimTemplate": {"name": f"{shape.name}{CHANNEL_SUFFIX}"},
    }
    return managed_object(
        plan.name,
        f"{COMPUTE_DOMAINS_GROUP}/v1beta1",
        "ComputeDomain",
        shape.name,
        namespace=space.name,
        spec={"numNodes": 0, "channel": channel},
    )
