"""What a quota's two writers kept from being made comes again; what a quota refuses is refused."""

import pulumi
import pytest

from gpuyard.resources.diagnosis.hooks import QUOTA_CONFLICT

RACED = (
    'Operation cannot be fulfilled on resourcequotas "gpuyard": the object has been modified; '
    "please apply your changes to the latest version and try again"
)
CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "corpus"}}


def failed(*errors):
    return pulumi.ErrorHookArgs(
        "urn", "", "name", "type", new_inputs=CLAIM, failed_operation="create", errors=[*errors]
    )


def test_what_met_a_quota_that_two_wrote_at_once_comes_again_after_a_pause(said, again):
    assert again(failed(RACED)) is True
    wanted = f"two writers changed quota gpuyard at the same time; retrying (1 of {QUOTA_CONFLICT.tries})"
    assert said == {"info": [wanted], "warn": [], "slept": [QUOTA_CONFLICT.pause_seconds]}


def test_it_comes_again_so_often_and_no_more(said, again):
    assert again(failed(*[RACED] * (QUOTA_CONFLICT.tries - 1))) is True
    assert again(failed(*[RACED] * QUOTA_CONFLICT.tries)) is False
    assert len(said["info"]) == 1


@pytest.mark.parametrize(
    "errors",
    [
        (),
        ('persistentvolumeclaims "corpus" is forbidden: exceeded quota: gpuyard',),
        (RACED.replace("resourcequotas", "configmaps"),),
        ("the server says no", RACED),
    ],
    ids=["no-error", "exceeded", "other-object", "other-now"],
)
def test_nothing_else_comes_again(said, again, errors):
    assert again(failed(*errors)) is False
    assert said["info"] == said["slept"] == []
