"""Sharing of a pool's GPUs: MIG slices, time-slicing, MPS, MIG with time-slicing, or claims."""

from typing import Annotated, Any

from pydantic import Field, model_serializer, model_validator

from gpuyard_core.catalogue.sharing import MAX_REPLICAS
from gpuyard_core.models.values import (
    Count,
    GpuIndexes,
    Positive,
    SpecModel,
    show_gpu_indexes,
    value_error,
)

MIN_REPLICAS = 2
"""The device plugin rejects fewer: one pod on one GPU is not sharing."""
_COMPUTE_SLICES = 7


class MigGroup(SpecModel):
    """A MIG layout: the slices into which GPUs are partitioned, written `{1g.5gb: 2, 3g.20gb: 1}`."""

    gpus: GpuIndexes | None = None
    """GPU indexes of the node that the layout applies to. Default: all GPUs."""
    slices: dict[str, Positive]
    """Number of slices of each MIG profile on every one of these GPUs; an empty mapping leaves them
    unpartitioned."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        if isinstance(value, str):
            # for example as many as fit on a GPU with seven compute slices
            width = value[:1]
            count = _COMPUTE_SLICES // int(width) if width in {*"1234"} else 1
            raise value_error(
                "mig_form",
                "a profile without a count is not a layout",
                allowed="each profile with its number of slices per GPU",
                fix=f"write {{{value}: {count}}}, or another number",
            )
        if isinstance(value, dict) and "slices" not in value:
            rest = {k: v for k, v in value.items() if k != "gpus"}
            return {"slices": rest} | ({"gpus": value["gpus"]} if "gpus" in value else {})
        return value

    @model_serializer
    def _to_shorthand(self) -> dict[str, Any]:
        chosen = {"gpus": show_gpu_indexes(self.gpus)} if self.gpus else {}
        return chosen | dict(self.slices)


class Sharing(SpecModel):
    """How one GPU serves several pods; one sharing mode for all GPUs of a pool."""

    mig: tuple[MigGroup, ...] = ()
    """MIG layout of every GPU, or a list of layouts by GPU index. Default: GPUs are not partitioned."""
    time_slicing: Count = 0
    """Number of pods that share one GPU or MIG slice by time-slicing, 2 to 48, without a memory limit.
    Default: 0, no time-slicing."""
    mps: Count = 0
    """Number of pods that share one GPU by MPS, 2 to 48, each with a memory limit; not with MIG.
    Default: 0, no MPS."""

    dra: Annotated[bool, Field(strict=True)] = False
    """Dynamic resource allocation: pods request GPUs through ResourceClaims, not as extended resources.
    Default: off."""

    @property
    def needs_sharing_config(self) -> bool:
        """True when the device plugin needs a sharing configuration."""
        return bool(self.mig or self.time_slicing or self.mps)

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        if value == "none":
            return {}
        if value == "dra":
            return {"dra": True}
        if isinstance(value, dict) and isinstance(value.get("mig"), dict | str):
            return value | {"mig": [value["mig"]]}
        return value

    @model_validator(mode="after")
    def _one_method(self) -> "Sharing":
        for name, replicas in (("time_slicing", self.time_slicing), ("mps", self.mps)):
            if replicas and not MIN_REPLICAS <= replicas <= MAX_REPLICAS:
                suggestion = MIN_REPLICAS if replicas < MIN_REPLICAS else MAX_REPLICAS
                raise value_error(
                    "sharing_replicas",
                    f"{name}: {replicas} pods cannot share one GPU",
                    allowed=f"{MIN_REPLICAS} to {MAX_REPLICAS} (the device plugin rejects fewer)",
                    fix=f"write {name}: {suggestion}",
                    change=((name,), suggestion),
                )
        if self.mps and (self.mig or self.time_slicing):
            other = "mig" if self.mig else "time_slicing"
            turns = {"time_slicing": self.time_slicing or self.mps}
            instead = {k: v for k, v in self.model_dump().items() if k != "mps"} | turns
            raise value_error(
                "sharing_methods",
                f"mps and {other} cannot be combined on one GPU",
                allowed="mps alone, or mig with time_slicing",
                fix="use time_slicing instead of mps" if self.mig else f"remove {other}",
                change=((), instead) if self.mig else ((other,), None),
            )
        if self.dra and (self.mig or self.time_slicing or self.mps):
            raise value_error(
                "sharing_methods",
                "dra cannot be combined: ResourceClaims define the sharing, and the device plugin does not run",
                allowed="dra alone",
                fix="remove everything but dra",
                change=((), "dra"),
            )
        return self

    @model_serializer
    def _to_shorthand(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if self.mig:
            groups = [g.model_dump() for g in self.mig]
            out["mig"] = groups[0] if len(groups) == 1 and self.mig[0].gpus is None else groups
        others = {"time_slicing": self.time_slicing, "mps": self.mps, "dra": self.dra}
        return out | {name: value for name, value in others.items() if value}
