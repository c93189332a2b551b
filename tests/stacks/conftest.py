"""Programs of this folder's tests run on a mock monitor: no cluster is asked."""

from kit.clouds.unasked import deaf, no_cluster_is_queried

__all__ = ["deaf", "no_cluster_is_queried"]
