"""Objects by which pods name a node's additional networks, with the names of GKE's examples."""

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.gcp.fabric import all_links, fabric_name
from gpuyard.render.objects import Object, managed_object
from gpuyard_core.names import GKE_NETWORKING_GROUP

_VERSION = f"{GKE_NETWORKING_GROUP}/v1"
_PARAMETERS = "GKENetworkParamSet"


def network_objects(plan: PlatformPlan) -> list[Object]:
    """Two objects for each additional network: its location, and its name for pods' interfaces.

    Cards that pods claim have none: resource claims find them.
    """
    named = {link.pod_network_name: link for link in all_links(plan) if link.mode}
    return [
        each
        for name, link in named.items()
        for each in (
            managed_object(
                plan.name,
                _VERSION,
                _PARAMETERS,
                name,
                spec={
                    "vpc": fabric_name(plan, link.network),
                    "vpcSubnet": fabric_name(plan, link.subnetwork),
                    "deviceMode": link.mode,
                },
            ),
            managed_object(
                plan.name,
                _VERSION,
                "Network",
                name,
                spec={
                    "type": "Device",
                    "parametersRef": {
                        "group": GKE_NETWORKING_GROUP,
                        "kind": _PARAMETERS,
                        "name": name,
                    },
                },
            ),
        )
    ]
