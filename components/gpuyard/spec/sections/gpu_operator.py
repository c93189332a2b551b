"""NVIDIA's GPU Operator in a stack file: whose it is, and where."""

from pydantic import model_validator

from gpuyard.names import GPU_OPERATOR_NAMESPACE
from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Name, Switch, value_error


class OperatorSpec(SpecModel):
    """The GPU Operator: ours, or one that is there already."""

    install: Switch = True
    """Install NVIDIA's chart. Default on; say false where an operator runs already: it is joined as it is."""
    namespace: Name = GPU_OPERATOR_NAMESPACE
    """Where the operator that is there runs. Default gpu-operator."""

    @model_validator(mode="after")
    def _ours_has_its_own(self) -> "OperatorSpec":
        if self.install and self.namespace != GPU_OPERATOR_NAMESPACE:
            raise value_error(
                "operator_form",
                f"an operator of ours is in {GPU_OPERATOR_NAMESPACE}; one that is there may be elsewhere",
                allowed="namespace: NAME beside install: false",
                fix="remove `namespace`",
                change=(("namespace",), None),
            )
        return self
