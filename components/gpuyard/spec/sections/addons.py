"""Optional tools for teams: controllers of jobs, services, pipelines and deliveries."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from gpuyard_core.models.values import Name, NamedModel, SpecModel, Switch, value_error
from gpuyard_core.names import GPU_OPERATOR_NAMESPACE


class AddonName(StrEnum):
    """Tools that gpuyard installs from the charts of their projects."""

    KUBERAY = "kuberay"
    JOBSET = "jobset"
    KUBEFLOW_TRAINER = "kubeflow-trainer"
    LEADER_WORKER_SET = "leader-worker-set"
    KEDA = "keda"
    ARGO_WORKFLOWS = "argo-workflows"
    ARGO_CD = "argo-cd"
    TEKTON = "tekton"
    KUBEFLOW_PIPELINES = "kubeflow-pipelines"
    CERT_MANAGER = "cert-manager"
    KSERVE = "kserve"


class Addon(NamedModel):
    """A tool, and the teams that may use it."""

    name: AddonName
    """Name of the add-on."""
    teams: Annotated[tuple[Name, ...], Field(max_length=1000)] = ()
    """Teams whose members may create its objects. Default: all teams."""
    install: Annotated[bool, Field(strict=True)] = True
    """Whether gpuyard installs it; false if the cluster has it. Default: true."""


class OperatorSpec(SpecModel):
    """The NVIDIA GPU Operator: installed by gpuyard, or existing."""

    install: Switch = True
    """Whether to install NVIDIA's chart; false if an operator already runs, which gpuyard leaves unchanged.
    Default: on."""
    namespace: Name = GPU_OPERATOR_NAMESPACE
    """Namespace of the existing operator. Default: gpu-operator."""

    @model_validator(mode="after")
    def _ours_has_its_own(self) -> "OperatorSpec":
        if self.install and self.namespace != GPU_OPERATOR_NAMESPACE:
            raise value_error(
                "operator_form",
                f"gpuyard installs the operator in {GPU_OPERATOR_NAMESPACE}; only an existing one can be elsewhere",
                allowed="namespace: NAME together with install: false",
                fix="remove `namespace`",
                change=(("namespace",), None),
            )
        return self
