"""A stack that raw resources deployed does not change when the SDKs' classes register it."""

import json

import pytest
from testbed.plugins.cloud.account import Account

from kit.clouds.programs import GRAPH
from kit.clouds.stored import STORED

RAW = """
import pulumi
from pulumi import _types
from gpuyard.resources import clouds
from gpuyard.sdk_classes import resource_class, sdk_version

def register(token, name, inputs, opts):
    declared = dict.fromkeys(_types.resource_types(resource_class(token)))
    version = pulumi.ResourceOptions(version=sdk_version(token.partition(":")[0]))
    merged = pulumi.ResourceOptions.merge(version, opts)
    return pulumi.CustomResource(token, name, {**declared, **inputs}, merged)

clouds.register_resource = register
clouds.output = getattr
"""
"""Before `GRAPH`: registration with the token and the fields of the graph, as before decision 86."""
OF_THE_RUN = {"created", "modified", "sourcePosition", "stackTrace"}
"""Fields of the state that tell when and by which line a resource was registered."""
ENCRYPTED = "ciphertext"


def plain(value):
    """A value of the state without the order of dependencies, and without ciphertexts, which are never the same."""
    if isinstance(value, dict):
        return (
            ENCRYPTED if ENCRYPTED in value else {key: plain(each) for key, each in value.items()}
        )
    return sorted(map(str, value)) if isinstance(value, list) else value


def resources(stack):
    return {
        (each["urn"], key): plain(value)
        for each in stack.state()["resources"]
        for key, value in each.items()
        if key not in OF_THE_RUN
    }


@pytest.mark.always
@pytest.mark.parametrize("cloud", STORED)
def test_the_classes_of_the_sdk_find_nothing_to_change(of_clouds, tmp_path, cloud):
    """All that an SDK adds is which outputs are secret."""
    of_clouds.env["AWS_REGION"] = "us-east-1"
    of_clouds.env |= {"GOOGLE_PROJECT": "my-project", "GOOGLE_REGION": "us-central1"}
    (of_clouds.folder / "platform.json").write_text(json.dumps(STORED[cloud]))
    program = of_clouds.folder / "__main__.py"

    program.write_text(RAW + GRAPH)
    of_clouds.up()
    of_clouds.up("--expect-no-changes")
    assert len(Account(tmp_path / "cloud", cloud).all()) > 40
    before = resources(of_clouds)

    program.write_text(f"\n{GRAPH}")
    of_clouds.unchanged()
    of_clouds.up("--expect-no-changes")
    after = resources(of_clouds)
    assert {key for key, value in before.items() if after.get(key) != value} == set()
    assert {field for _, field in after.keys() - before.keys()} <= {"additionalSecretOutputs"}
