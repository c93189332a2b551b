"""Pods of several whole nodes are told when they ask for nothing that carries them across the fabric."""

import pytest

from gpuyard_advisor.explain import Verdict
from kit.cases.explain import GPU, job, said
from kit.stacks import plan_of, platform, pool, team

EFA, HCA = "vpc.amazonaws.com/efa", "rdma/hca"
SYSTEM = {"machine": "m7i.xlarge", "nodes": "2..3"}


def on(cloud, machine="p5.48xlarge", **rest):
    pools = [pool(machine=machine, **rest)]
    more = {"system": SYSTEM} if cloud == "aws" else {"cluster": {"existing": "blue"}}
    teams = [team(guarantee={"train": 32})]
    return plan_of(platform(pools, teams, cloud=cloud, admission={"enforce": "warn"}, **more))


def hall(**fabric):
    return on("none", fabric={"kind": "infiniband", "hcas": ["mlx5_0"], "gbps": 400, **fabric})


def told(plan, value):
    found = said(plan, value)
    assert found.verdict is Verdict.STARTS
    return [each for each in found.cautions if "back to TCP" in each]


def with_adapter(resource, **rest):
    limits = {GPU: 8, resource: 1}
    return job(2, containers=[{"resources": {"limits": limits}}], **rest)


def test_a_gang_without_an_adapter_is_told_what_to_add():
    (one,) = told(on("aws"), job(2, 8))
    assert one == (
        "2 pods of the job would use whole nodes of train without vpc.amazonaws.com/efa: their traffic"
        " falls back to TCP, and NCCL does not report it. Add vpc.amazonaws.com/efa: 32 to the limits"
    )
    (one,) = told(hall(), job(2, 8))
    assert "without rdma/hca" in one
    assert "Add rdma/hca: 1 to the limits" in one


def test_who_asks_for_one_is_told_nothing():
    assert told(on("aws"), with_adapter(EFA)) == []
    assert told(hall(), with_adapter(HCA)) == []


@pytest.mark.parametrize(
    "value",
    [job(1, 8), job(4, 4), job(2, 8, kind="Deployment"), job(2, None)],
    ids=["one node", "parts of nodes", "replicas", "no GPU"],
)
def test_who_need_not_talk_is_told_nothing(value):
    assert told(on("aws"), value) == []


@pytest.mark.parametrize("path", ["/dev", "/dev/infiniband", "/dev/infiniband/uverbs0"])
def test_the_hosts_own_devices_are_adapters_too(path):
    mounted = job(2, 8, volumes=[{"name": "ib", "hostPath": {"path": path}}])
    assert told(hall(), mounted) == []


def test_a_privileged_container_has_them():
    limits = {"resources": {"limits": {GPU: 8}}, "securityContext": {"privileged": True}}
    assert told(on("aws"), job(2, containers=[limits])) == []


def test_other_paths_of_the_host_are_no_adapters():
    mounted = job(2, 8, volumes=[{"name": "d", "hostPath": {"path": "/data"}}])
    assert len(told(hall(), mounted)) == 1


def test_where_no_pod_has_to_ask_nothing_is_said():
    assert told(on("aws", "g6.xlarge", nodes=32), job(2, 1)) == []
    assert told(hall(plugin="network-operator"), job(2, 8)) == []


def test_shares_are_no_whole_nodes():
    plan = on("aws", "g6.12xlarge", nodes=8, sharing={"time_slicing": 4})
    assert not [c for c in said(plan, job(2, 16)).cautions if "back to TCP" in c]


def test_a_job_that_never_starts_has_other_worries():
    found = said(on("aws"), job(8, 8))
    assert found.verdict is Verdict.NEVER
    assert not [each for each in found.cautions if "back to TCP" in each]
