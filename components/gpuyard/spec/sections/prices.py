"""Custom prices, and commitments that are paid whether used or not."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from gpuyard_core.models.base import SpecModel
from gpuyard_core.models.values import Percent, Positive, Text, Usd, UsdOrNothing


class MachinePrice(SpecModel):
    """Your hourly price of one machine, where it differs from the list price."""

    on_demand: Usd | None = None
    """On-demand price in US dollars per hour. Default: the list price."""
    spot: Usd | None = None
    """Spot price in US dollars per hour, as your yearly average. Default: the catalogue's price."""
    reserved: Usd | None = None
    """Price in US dollars per hour of nodes from a reservation or commitment. Default: the catalogue's
    price."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return {"on_demand": float(value)} if plain else value


class Commitment(SpecModel):
    """Nodes that you pay for over a term, used or not."""

    machine: Text
    """Machine type of the commitment."""
    nodes: Positive
    """Number of committed nodes."""
    years: Annotated[int, Field(strict=True, ge=1, le=5)] = 1
    """Term in years, usually 1 or 3. Default: 1."""
    usd_per_hour: Usd | None = None
    """Price of one node in US dollars per hour. Default: the catalogue's price for that term."""


class Prices(SpecModel):
    """Your prices, where they differ from the catalogue's list prices."""

    discount_percent: Percent = 0
    """Discount on every on-demand list price, in percent. Default: 0."""
    machines: dict[Text, MachinePrice] = Field(default_factory=dict)
    """Price by machine type: 42.5, or {on_demand: 42.5, spot: 17, reserved: 30}; the discount does not
    apply to it. Default: none."""
    commitments: Annotated[tuple[Commitment, ...], Field(max_length=100)] = ()
    """Commitments that are paid whether used or not. Default: none."""
    cluster_usd_per_hour: UsdOrNothing | None = None
    """Cluster fee in US dollars per hour. Default: the fee of EKS or GKE; none for an existing cluster."""
