"""A webhook that does not answer is asked again for a while; what it has refused is refused."""

import pulumi
import pytest

from gpuyard.resources.diagnosis.hooks import WEBHOOK

NAME = "mclusterqueue.kb.io"
CALLED = f'Internal error occurred: failed calling webhook "{NAME}": failed to call webhook: '
URL = (
    "https://kueue-webhook-service.kueue-system.svc:443/mutate-kueue-x-k8s-io-v1beta2-clusterqueue"
)
POST = f'{CALLED}Post "{URL}?timeout=10s": '
REFUSED = POST + "dial tcp 127.0.0.1:20004: connect: connection refused"
QUEUE = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}}


def failed(*errors, operation="create"):
    side = "old_inputs" if operation == "delete" else "new_inputs"
    return pulumi.ErrorHookArgs(
        "urn", "", "name", "type", failed_operation=operation, errors=[*errors], **{side: QUEUE}
    )


@pytest.mark.parametrize(
    "error",
    [
        REFUSED,
        f'{CALLED}no endpoints available for service "kueue-webhook-service"',
        f"{POST}context deadline exceeded",
        f"{POST}EOF",
        f"{POST}net/http: TLS handshake timeout",
        f"{POST}tls: failed to verify certificate: x509: certificate signed by unknown authority",
    ],
    ids=["refused", "no-endpoints", "late", "cut", "handshake", "new-certificate"],
)
def test_a_webhook_that_does_not_answer_is_asked_again_after_a_pause(said, again, error):
    assert again(failed(error)) is True
    wanted = f"webhook {NAME} does not respond yet; retrying (1 of {WEBHOOK.tries})"
    assert said == {"info": [wanted], "warn": [], "slept": [WEBHOOK.pause_seconds]}


@pytest.mark.parametrize("operation", ["update", "delete"])
def test_whatever_is_done_to_an_object_waits_for_it(said, again, operation):
    assert again(failed(REFUSED, operation=operation)) is True


def test_the_wait_has_an_end(said, again):
    assert again(failed(*[REFUSED] * (WEBHOOK.tries - 1))) is True
    assert again(failed(*[REFUSED] * WEBHOOK.tries)) is False
    assert len(said["info"]) == len(said["slept"]) == 1


@pytest.mark.parametrize(
    "errors",
    [
        (),
        ("the server says no",),
        ("the server says no", REFUSED),
        (f'admission webhook "{NAME}" denied the request: spec.cohortName: connection refused',),
        (f"{POST}an error on the server",),
    ],
    ids=["no-error", "other", "other-now", "denied", "answered"],
)
def test_nothing_else_is_tried_again(said, again, errors):
    assert again(failed(*errors)) is False
    assert said["info"] == said["slept"] == []
