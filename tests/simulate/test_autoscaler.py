"""What the fake autoscaler says of ProvisioningRequests, by nodes and pods alone."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuyard_simulate.agents.autoscaler import BOOKING_DURATION, CONSUMES, ClusterView, verdicts
from gpuyard_simulate.agents.provisioning import FakeAutoscaler
from gpuyard_simulate.api import ApiError

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
GPU = "nvidia.com/gpu"
CHECK, ATOMIC = (
    "check-capacity.autoscaling.x-k8s.io",
    "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
)


def stamp(ago=0.0):
    return (NOW - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(name, gpus=8, *, taints=(), labels=None, **spec):
    return {
        "metadata": {"name": name, "labels": labels or {"pool": "a"}},
        "spec": {"taints": list(taints), **spec},
        "status": {"allocatable": {GPU: str(gpus), "cpu": "64", "pods": "110", "odd": "?"}},
    }


def pod_spec(gpus=8, **more):
    limits = {GPU: str(gpus)}
    return {"containers": [{"resources": {"limits": limits, "requests": {"cpu": "1"}}}], **more}


def pod(gpus, where, *, name="p", of="", phase="Running"):
    notes = {CONSUMES: of} if of else {}
    return {
        "metadata": {"name": name, "namespace": "t", "annotations": notes},
        "spec": {**pod_spec(gpus), "nodeName": where},
        "status": {"phase": phase},
    }


def request(name="r", count=1, *, ago=1.0, conditions=(), kind=CHECK, template="w", **parameters):
    return {
        "metadata": {"name": name, "namespace": "t", "creationTimestamp": stamp(ago)},
        "spec": {
            "provisioningClassName": kind,
            "parameters": parameters,
            "podSets": [{"count": count, "podTemplateRef": {"name": template}}],
        },
        "status": {"conditions": list(conditions)},
    }


def condition(kind, status="True", ago=0.0, message="m"):
    return {"type": kind, "status": status, "lastTransitionTime": stamp(ago), "message": message}


def world(*requests, nodes=None, pods=(), **spec):
    templates = {("t", "w"): {"template": {"spec": pod_spec(**spec)}}}
    return ClusterView(nodes or [node("n0"), node("n1")], list(pods), templates, list(requests))


def said(*requests, **rest):
    """The conditions of each answered request, by name and in short."""
    return {
        v.request["metadata"]["name"]: {c["type"]: c["status"] for c in v.conditions}
        for v in verdicts(world(*requests, **rest), NOW)
    }


YES = {"Accepted": "True", "Provisioned": "True"}
NO = {"Accepted": "True", "Failed": "True"}
LATER = {"Accepted": "True", "Provisioned": "False"}


@pytest.mark.parametrize(
    ("count", "parameters", "answer"),
    [
        (2, {"noRetry": "true"}, YES),
        (3, {"noRetry": "true"}, NO),
        (3, {}, LATER),
        (3, {"noRetry": "false"}, LATER),
    ],
)
def test_room_is_what_nodes_have(count, parameters, answer):
    assert said(request(count=count, **parameters)) == {"r": answer}


def test_pods_that_are_there_count_and_those_that_are_over_do_not():
    busy = pod(1, "n0")
    assert said(request(count=2, noRetry="true"), pods=[busy]) == {"r": NO}
    over = pod(1, "n0", phase="Succeeded")
    assert said(request(count=2, noRetry="true"), pods=[over]) == {"r": YES}
    unplaced = {**busy, "spec": pod_spec(1)}
    elsewhere = pod(8, "other")
    assert said(request(count=2, noRetry="true"), pods=[unplaced, elsewhere]) == {"r": YES}


def test_the_message_says_how_many_find_no_room():
    (verdict,) = verdicts(world(request(count=5, noRetry="true")), NOW)
    assert verdict.conditions[-1]["message"] == "3 of 5 pods do not fit onto running nodes"


def test_what_is_granted_is_booked_until_its_pods_came():
    granted = request("old", conditions=[condition("Provisioned", ago=60)], ago=70)
    assert said(granted, request(count=2, noRetry="true")) == {"r": NO}
    came = pod(8, "n0", of="old")
    assert said(granted, request(count=2, noRetry="true"), pods=[came]) == {"r": NO}
    gone = pod(8, "n0", of="old", phase="Succeeded")
    assert said(granted, request(count=2, noRetry="true"), pods=[gone]) == {"r": YES}


def test_two_at_once_are_not_granted_the_same_room():
    both = (request("first", 2, ago=9, noRetry="true"), request("second", 1, noRetry="true"))
    assert said(*both) == {"first": YES, "second": NO}


def test_a_booking_ends_and_is_told_so_once():
    old = condition("Provisioned", ago=BOOKING_DURATION.total_seconds() + 1)
    (verdict,) = verdicts(world(request(conditions=[old])), NOW)
    assert [c["type"] for c in verdict.conditions] == ["Provisioned", "BookingExpired"]
    assert said(request(conditions=verdict.conditions)) == {}
    assert said(request("o", conditions=verdict.conditions), request(count=2)) == {"r": YES}


def test_what_is_decided_stays():
    assert said(request(conditions=[condition("Failed")])) == {}
    assert said(request(conditions=[condition("Provisioned", ago=5)])) == {}


def test_a_class_of_somebody_else_is_left_alone():
    assert said(request(kind="queued-provisioning.gke.io")) == {}


def test_an_atomic_request_is_tried_until_it_is_too_old():
    new = request(count=3, kind=ATOMIC, ValidUntilSeconds="30", ago=10)
    assert said(new) == {"r": LATER}
    old = request(count=3, kind=ATOMIC, ValidUntilSeconds="30", ago=31)
    assert said(old) == {"r": NO}


def test_the_same_answer_is_not_written_twice():
    (verdict,) = verdicts(world(request(count=3)), NOW)
    again = request(count=3, conditions=verdict.conditions)
    assert verdicts(world(again), NOW + timedelta(seconds=5)) == []


KEPT = {"key": GPU, "value": "present", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("tolerations", "answer"),
    [
        ([], NO),
        ([{"operator": "Exists"}], YES),
        ([{"key": GPU, "operator": "Exists"}], YES),
        ([{"key": GPU, "operator": "Equal", "value": "present", "effect": "NoSchedule"}], YES),
        ([{"key": GPU, "value": "other"}], NO),
        ([{"key": "x", "operator": "Exists"}], NO),
        ([{"key": GPU, "operator": "Exists", "effect": "NoExecute"}], NO),
    ],
)
def test_taints_keep_off_who_does_not_bear_them(tolerations, answer):
    nodes = [node("n0", taints=[KEPT])]
    assert said(request(noRetry="true"), nodes=nodes, tolerations=tolerations) == {"r": answer}


def test_taints_that_only_ask_and_nodes_that_are_closed():
    asks = node("n0", taints=[{**KEPT, "effect": "PreferNoSchedule"}])
    assert said(request(noRetry="true"), nodes=[asks]) == {"r": YES}
    closed = node("n0", unschedulable=True)
    assert said(request(noRetry="true"), nodes=[closed]) == {"r": NO}


@pytest.mark.parametrize(("pool", "answer"), [("a", YES), ("b", NO)])
def test_labels_choose_nodes(pool, answer):
    assert said(request(noRetry="true"), nodeSelector={"pool": pool}) == {"r": answer}


def test_a_large_first_container_needs_its_room():
    first = [{"resources": {"requests": {"cpu": "65"}}}, {"resources": {"requests": {"cpu": "1"}}}]
    assert said(request(noRetry="true"), initContainers=first) == {"r": NO}


def test_a_template_that_is_not_there_has_no_room():
    assert said(request(template="gone", noRetry="true")) == {"r": NO}


class FakeApi:
    """Lists from a dictionary, and patches that are kept."""

    def __init__(self, requests, status=None):
        self.lists = {
            "/apis/autoscaling.x-k8s.io/v1/provisioningrequests": requests,
            "/api/v1/podtemplates": [
                {"metadata": {"namespace": "t", "name": "w"}, "template": {"spec": pod_spec()}}
            ],
            "/api/v1/nodes": [node("n0")],
            "/api/v1/pods": [],
        }
        self.written = []
        self.status = status

    def call(self, _method, path):
        return {"items": self.lists[path]}

    def patch(self, path, change):
        if self.status:
            raise ApiError(self.status, "no")
        self.written.append((path, [c["type"] for c in change["status"]["conditions"]]))


def answered(api):
    lines = []
    FakeAutoscaler(api, lines.append).answer()
    return lines


def test_answers_are_written_as_status_and_said_in_the_log():
    api = FakeApi([request()])
    (line,) = answered(api)
    assert line.startswith("autoscaler: t/r: Provisioned=True")
    path = "/apis/autoscaling.x-k8s.io/v1/namespaces/t/provisioningrequests/r/status"
    assert api.written == [(path, ["Accepted", "Provisioned"])]


def test_without_a_question_nothing_is_looked_at():
    api = FakeApi([])
    api.lists = {"/apis/autoscaling.x-k8s.io/v1/provisioningrequests": []}
    assert answered(api) == []


@pytest.mark.parametrize("status", [404, 500])
def test_a_request_that_is_gone_needs_no_answer(status):
    api = FakeApi([request()], status)
    if status == 404:
        assert len(answered(api)) == 1
    else:
        with pytest.raises(ApiError):
            answered(api)
