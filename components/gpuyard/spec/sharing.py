"""Sharing of a pool's GPUs: MIG slices, time-slicing, MPS, MIG with time-slicing, or claims."""

from typing import Annotated, Any

from pydantic import Field, model_serializer, model_validator

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Count, GpuIndexes, Positive, show_gpu_indexes, value_error

MIN_REPLICAS = 2
"""The device plugin refuses fewer: one pod on one GPU is no sharing."""
MAX_REPLICAS = 48
"""The device plugin's limit for MPS clients (16 before compute capability 7.5), ours for time-slicing."""
_COMPUTE_SLICES = 7


def _a_count(profile: str) -> int:
    """How many slices so wide a GPU of seven has room for, as an example."""
    width = profile[:1]
    return _COMPUTE_SLICES // int(width) if width in {*"1234"} else 1


class MigGroup(SpecModel):
    """Which slices the GPUs of a node are cut into; written `{1g.5gb: 2, 3g.20gb: 1}`."""

    gpus: GpuIndexes | None = None
    """Indexes of the GPUs on the node that this layout is for; without it, all of them."""
    slices: dict[str, Positive]
    """How many of each MIG profile every one of these GPUs holds; an empty mapping leaves them whole."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise value_error(
                "mig_form",
                "a profile alone is no layout",
                allowed="each profile with how many of it every GPU holds",
                fix=f"write {{{value}: {_a_count(value)}}}, or another number",
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
    """How one GPU serves several pods; one method for all GPUs of a pool."""

    mig: tuple[MigGroup, ...] = ()
    """MIG layout of every GPU, or a list of layouts by GPU index. Empty: GPUs are not cut."""
    time_slicing: Count = 0
    """Pods that take turns on one GPU (or on one MIG slice), 2 to 48; 0: no time-slicing. No memory limit."""
    mps: Count = 0
    """Pods that run at once on one GPU with a memory limit each, 2 to 48; 0: no MPS. Not with MIG."""

    dra: Annotated[bool, Field(strict=True)] = False
    """Dynamic resource allocation: pods claim GPUs through ResourceClaims, not as counted resources."""

    @property
    def shares(self) -> bool:
        """True when the device plugin must be told how to share."""
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
                    f"{name}: {replicas} is not a number of pods that can share one GPU",
                    allowed=f"{MIN_REPLICAS} to {MAX_REPLICAS} (the device plugin refuses fewer)",
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
                "with dra the claims of pods say how a GPU is shared, the device plugin does not run",
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
        if self.time_slicing:
            out["time_slicing"] = self.time_slicing
        if self.mps:
            out["mps"] = self.mps
        if self.dra:
            out["dra"] = True
        return out
