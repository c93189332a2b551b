"""The stack program: the platform of the stack's configuration, proved before anything is made.

The component's name does not follow the platform's: names in the state outlive names in the spec.
"""

import pulumi

from gpuyard.resources import ClusterProvider, Platform, prove, settle_registrations

plan = prove(pulumi.Config("gpuyard").require_object("platform")).plan
cluster = ClusterProvider("cluster", plan.name)
platform = Platform("platform", {"platform": plan}, pulumi.ResourceOptions(providers=[cluster]))

pulumi.export("pools", platform.pools)
pulumi.export("teams", platform.teams)
pulumi.export("bill", platform.bill)
pulumi.export("digest", platform.digest)
pulumi.export("notes", platform.notes)

settle_registrations()
