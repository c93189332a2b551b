"""A capacity block is bought once: also where a deployment was killed between purchase and state."""

import pulumi
import pytest
from testbed.plugins.cloud.account import Account

from gpuyard.changes.deployed_state import deployed_state
from gpuyard.render.cloud.graph import BLOCK, CloudResource
from gpuyard.resources import clouds
from gpuyard.resources.errors import PlatformRejected
from gpuyard_core.names import OFFERING_TAG
from kit.clouds.answers import PLACES, calls

OFFER = "cb-0a"
PURCHASE = CloudResource(
    kind=BLOCK,
    name="train-cb-0a",
    inputs={
        "capacityBlockOfferingId": OFFER,
        "instancePlatform": "Linux/UNIX",
        "tags": {OFFERING_TAG: OFFER},
    },
)


class Told:
    """What an invoke gives."""

    def __init__(self, value):
        self.value = value


@pytest.fixture
def there(monkeypatch):
    """A state, and an account that answers."""

    def of(account=None, *, stand=None, says=None):
        asked = []

        def invoke(token, args, _opts):
            asked.append(token)
            if says is not None:
                raise RuntimeError(says)
            return Told(calls(account)[token](args))

        monkeypatch.setattr(clouds, "last_known_state", lambda: stand)
        monkeypatch.setattr(pulumi.runtime, "invoke", invoke)
        return asked

    return of


def bought():
    account = Account()
    made = account.create(BLOCK, "train", dict(PURCHASE.inputs), PLACES["aws"])
    return account, made


def test_an_offer_that_nobody_has_bought_may_be(there):
    asked = there(Account())
    clouds.reject_purchased_offering(PURCHASE)
    assert len(asked) == 1


def test_one_that_is_bought_and_in_no_state_is_refused_with_what_to_do(there):
    account, made = bought()
    there(account)
    with pytest.raises(PlatformRejected) as refused:
        clouds.reject_purchased_offering(PURCHASE)
    (finding,) = refused.value.findings
    assert finding.id == "live.block"
    assert finding.problem == (
        f"cb-0a was already purchased as {made.id}, which is missing from this stack's state"
    )
    assert f"set `block: {made.id}` in place of the offer" in finding.fix.message


def test_what_the_state_has_is_not_asked_for(there):
    has = {"urn": "urn:x", "type": BLOCK, "outputs": {"capacityBlockOfferingId": OFFER}}
    asked = there(stand=deployed_state({"deployment": {"resources": [has]}}))
    clouds.reject_purchased_offering(PURCHASE)
    assert asked == []


def test_another_offer_in_the_state_answers_for_itself_alone(there):
    has = {"urn": "urn:x", "type": BLOCK, "outputs": {"capacityBlockOfferingId": "cb-0b"}}
    asked = there(Account(), stand=deployed_state({"deployment": {"resources": [has]}}))
    clouds.reject_purchased_offering(PURCHASE)
    assert len(asked) == 1


def test_where_nobody_can_say_nothing_is_bought(there):
    there(says="UnauthorizedOperation: you may not")
    with pytest.raises(PlatformRejected) as refused:
        clouds.reject_purchased_offering(PURCHASE)
    assert "so it does not purchase it: UnauthorizedOperation" in refused.value.findings[0].problem
