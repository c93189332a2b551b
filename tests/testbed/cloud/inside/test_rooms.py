"""Pods that fit on a stand-in of a node, and pods that keep the node."""

from typing import Any

import pytest
from testbed.plugins.cloud.inside.rooms import STAYS, needs_its_node, room_of

NODE = {"status": {"allocatable": {"cpu": "4", "pods": "3"}}}


def pod(cpu: str = "", apart: Any = None, **labels: str) -> dict[str, Any]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": apart}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {
        "metadata": {"namespace": "a", "labels": labels},
        "spec": {
            "containers": [{"resources": {"requests": {"cpu": cpu} if cpu else {}}}],
            **({"affinity": {"podAntiAffinity": rules}} if apart else {}),
        },
    }


def test_a_node_takes_as_much_as_it_has_and_as_many_pods_as_it_may():
    room = room_of(NODE)
    assert [room.takes(each) for each in (pod("3"), pod("2"), pod("1"), pod(), pod())] == [
        True,
        False,
        True,
        True,
        False,
    ]
    crowded = room_of(NODE)
    crowded.put(pod("9"))  # it already exists
    assert not crowded.takes(pod("1"))
    assert crowded.takes(pod())


def test_pods_with_anti_affinity_are_not_on_one_node_whichever_declares_it():
    apart = {"matchLabels": {"keeps": "train"}}
    first = pod(keeps="train")
    assert not _both(first, pod(apart=apart, keeps="train"))
    assert not _both(pod(apart=apart), first)
    assert _both(pod(keeps="other"), pod(apart=apart, keeps="train"))
    elsewhere = {**first, "metadata": {**first["metadata"], "namespace": "b"}}
    assert _both(elsewhere, pod(apart=apart))


def test_of_two_sets_each_may_keep_a_node():
    """The form in which the API server writes `matchLabelKeys`."""

    def of(job: str) -> dict[str, Any]:
        own = [{"key": "job", "operator": "In", "values": [job]}]
        return pod(
            apart={"matchLabels": {"keeps": "train"}, "matchExpressions": own},
            keeps="train",
            job=job,
        )

    assert not _both(of("one"), of("one"))
    assert _both(of("one"), of("two"))


def test_what_it_cannot_read_is_an_error():
    never = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    with pytest.raises(ValueError, match="does not support Exists"):
        _both(pod(), pod(apart=never))


def test_what_asks_for_nothing_keeps_its_node_only_when_it_says_so():
    assert needs_its_node(pod("1"))
    assert not needs_its_node(pod())
    stays = pod()
    stays["metadata"]["annotations"] = {STAYS: "false"}
    assert needs_its_node(stays)
    stays["metadata"]["annotations"] = {STAYS: "true"}
    assert not needs_its_node(stays)


def _both(one: dict[str, Any], other: dict[str, Any]) -> bool:
    room = room_of(NODE)
    return room.takes(one) and room.takes(other)
