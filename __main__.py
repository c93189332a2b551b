"""The stack program: the platform of the stack's configuration, proved before anything is made.

The component's name does not follow the platform's: names in the state outlive names in the spec.
"""

import pulumi

from gpuyard.resources import Platform, settle_registrations

spec = pulumi.Config("gpuyard").require_object("platform")
platform = Platform("platform", {"platform": spec})

pulumi.export("pools", platform.pools)
pulumi.export("teams", platform.teams)
pulumi.export("bill", platform.bill)
pulumi.export("digest", platform.digest)
pulumi.export("notes", platform.notes)

settle_registrations()
