"""Programs and components that the tests of the mock monitor register."""

import pulumi


class Yard(pulumi.ComponentResource):
    """A component of one child, done as the house wants it."""

    def __init__(self, name, opts=None, **inputs):
        super().__init__("gpuyard:index:Yard", name, inputs, opts)
        self.track = thing(f"{name}-track", opts=pulumi.ResourceOptions(parent=self))
        self.register_outputs({"track": self.track.id})


class Plain(pulumi.CustomResource):
    """A resource of a package that no SDK knows, with the outputs a test asks for."""

    size: pulumi.Output[int]

    def __init__(self, name, props=None, opts=None, token="plain:index:Thing"):  # noqa: S107
        super().__init__(token, name, {"size": None, **(props or {})}, opts)


def thing(name, props=None, opts=None, token="plain:index:Thing"):  # noqa: S107 no password
    return Plain(name, props, opts, token)
