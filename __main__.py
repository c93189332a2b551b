"""The stack program: the platform of the stack's configuration, proved before anything is made."""

import pulumi

from gpuyard.resources import Platform, prove, settle_registrations

plan = prove(pulumi.Config("gpuyard").require_object("platform")).plan
platform = Platform(plan.name, {"platform": plan})

pulumi.export("pools", platform.pools)
pulumi.export("teams", platform.teams)
pulumi.export("bill", platform.bill)
pulumi.export("digest", platform.digest)
pulumi.export("notes", platform.notes)

settle_registrations()
