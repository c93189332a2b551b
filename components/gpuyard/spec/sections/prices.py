"""Prices of one's own, and commitments that are paid in any case."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Percent, Positive, Text, Usd, UsdOrNothing


class MachinePrice(SpecModel):
    """What one machine costs you an hour, when that is not the list price."""

    on_demand: Usd | None = None
    """US dollars an hour on demand."""
    spot: Usd | None = None
    """US dollars an hour on spot, as a yearly average of yours."""
    reserved: Usd | None = None
    """US dollars an hour for nodes from a reservation or a commitment."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return {"on_demand": float(value)} if plain else value


class Commitment(SpecModel):
    """Nodes you have promised to pay for, used or not."""

    machine: Text
    """The machine type."""
    nodes: Positive
    """How many of it are always paid."""
    years: Annotated[int, Field(strict=True, ge=1, le=5)] = 1
    """For how long: 1 or 3 years usually."""
    usd_per_hour: Usd | None = None
    """US dollars an hour for one. Default: the catalogue's price for that term."""


class Prices(SpecModel):
    """Your prices, where they are not the catalogue's list prices."""

    discount_percent: Percent = 0
    """Percent off every list price on demand. Default 0."""
    machines: dict[Text, MachinePrice] = Field(default_factory=dict)
    """By machine type: 42.5, or {on_demand: 42.5, spot: 17, reserved: 30}. They win over the discount."""
    commitments: Annotated[tuple[Commitment, ...], Field(max_length=100)] = ()
    """What is paid for in any case. Default: nothing."""
    cluster_usd_per_hour: UsdOrNothing | None = None
    """US dollars an hour for the cluster itself. Default: EKS's or GKE's fee, none for one that exists."""
