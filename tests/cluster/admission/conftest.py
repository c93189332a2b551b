"""The fixtures of the twins, for every test of this folder."""

from kit.cluster.twins import held, server

__all__ = ["held", "server"]
