"""Programs of this folder's tests run on a mock monitor: no cluster is asked."""

from kit.clouds.unasked import deaf, nobody_is_asked

__all__ = ["deaf", "nobody_is_asked"]
