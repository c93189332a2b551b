"""A real Karpenter beside the cluster, for the campaigns that want one."""

import os
from pathlib import Path

import pytest
import yaml

from cluster.conftest import NAME
from gpuyard_simulate import processes, state
from gpuyard_simulate.api import connect
from kit.cluster import karpenter
from kit.cluster.karpenter import DEFINITIONS, PROGRAM, put


@pytest.fixture(scope="module")
def program(with_karpenter):
    """The cluster beside which Karpenter runs."""
    return with_karpenter[0]


@pytest.fixture(scope="module")
def with_karpenter(started, tmp_path_factory):
    """Karpenter beside the cluster. Its agents own the capacity of all nodes, and so they rest."""
    processes.stop([state.folder_of(NAME).read_process("agents")])
    kubeconfig = Path(started.status.kubeconfig)
    api = connect(kubeconfig)
    for folder in os.environ[DEFINITIONS].split(os.pathsep):
        for file in sorted(Path(folder).glob("*.yaml")):
            put(api, yaml.safe_load(file.read_text()))
    with karpenter.beside(
        Path(os.environ[PROGRAM]), kubeconfig, tmp_path_factory.mktemp("karpenter")
    ) as found:
        yield api, found.pid
