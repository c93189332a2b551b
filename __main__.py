"""The stack program: the platform of the stack's configuration, proved before anything is made.

The component's name does not follow the platform's: names in the state outlive names in the spec.
"""

import pulumi

from gpuyard.resources import Platform, await_registrations, provider_of, validate_platform

config = pulumi.Config("gpuyard")
validated = validate_platform(config.require_object("platform"))
cluster = provider_of(validated.plan, render_to=config.get("rendered"))
opts = pulumi.ResourceOptions(providers=[cluster]) if cluster else None
platform = Platform("platform", {"platform": validated}, opts)

pulumi.export("pools", platform.pool_summaries)
pulumi.export("teams", platform.team_summaries)
pulumi.export("bill", platform.bill)
pulumi.export("validation", platform.validation)
pulumi.export("digest", platform.digest)
pulumi.export("notes", platform.notes)

await_registrations()
