"""The NVIDIA GPU Operator in a stack file."""

from pydantic import model_validator

from gpuyard_core.models.base import SpecModel
from gpuyard_core.models.values import Name, Switch, value_error
from gpuyard_core.names import GPU_OPERATOR_NAMESPACE


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
