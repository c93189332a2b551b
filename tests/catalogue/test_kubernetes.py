"""What runs in every cluster: each fact has its source, and stands in the catalogue alone."""

import ast
from ipaddress import ip_network
from pathlib import Path

import pytest

import gpuyard
from gpuyard_core.catalogue.kubernetes import addresses, api, autoscalers, claims
from gpuyard_core.catalogue.sharing import mps_clients
from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS
from gpuyard_core.catalogue.sources import find_source
from gpuyard_core.names import NAMESPACE_LABEL, POOL_LABEL
from gpuyard_simulate.agents import autoscaler
from kit.every import every

LIBRARY = Path(gpuyard.__file__).parent
MODULES = [
    pytest.param(p, id=str(p.relative_to(LIBRARY)))
    for p in sorted(LIBRARY.rglob("*.py"))
    if "catalogue" not in p.relative_to(LIBRARY).parts
]


@pytest.mark.repeats("none: it runs no line that is measured")
@every("module", MODULES)
def test_a_fact_that_somebody_looked_up_stands_in_the_catalogue(module):
    calls = [n for n in ast.walk(ast.parse(module.read_text())) if isinstance(n, ast.Call)]
    for call in calls:
        if ast.unparse(call.func).endswith("Source"):
            dates = [n for n in ast.walk(call) if isinstance(n, ast.Call) and n is not call]
            assert not [n for n in dates if ast.unparse(n.func) == "date"], ast.unparse(call)


def test_the_fake_autoscaler_answers_classes_that_there_are():
    assert set(autoscaler.PROVISIONING_CLASSES) < set(autoscalers.PROVISIONING_CLASSES.values())


def test_addresses_are_of_one_host_each():
    hosts = [ip_network(a) for a in (*addresses.METADATA, addresses.NODE_DNS)]
    assert all(host.num_addresses == 1 and host.is_link_local for host in hosts[:1])
    assert all(host.num_addresses == 1 for host in hosts)
    assert addresses.CLOUD_DNS == "169.254.169.254/32"


def test_our_own_labels_are_labels():
    for key in (POOL_LABEL, NAMESPACE_LABEL):
        prefix, _, name = key.partition("/")
        assert api.LABEL.fullmatch(name)
        assert api.LABEL_PREFIX.fullmatch(prefix)
    assert not api.LABEL.fullmatch("-x")
    assert not api.LABEL_PREFIX.fullmatch("Example.com")


def test_claims_and_policies_came_with_minors_that_are_still_supported():
    assert claims.SERVED_SINCE in KUBERNETES_MINORS
    assert f"1.{api.MUTATES_SINCE}" in KUBERNETES_MINORS


def test_old_gpus_serve_few_mps_clients():
    assert find_source("sharing.mps").verified
    assert [mps_clients(c) for c in ((7, 0), (7, 5), (9, 0))] == [16, None, None]
