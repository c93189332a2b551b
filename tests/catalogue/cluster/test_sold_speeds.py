"""What a store is sold with, by its kind."""

from gpuyard_core.catalogue.cluster.check_thresholds import sold_speed


def test_of_what_nobody_sells_no_speed_is_known():
    """A storage class is whatever its cluster makes of it."""
    assert sold_speed("storage-class", None, 1024, None) is None


def test_what_is_sold_has_a_speed_that_grows_with_its_size():
    sizes = {
        "fsx-lustre": ("persistent-2", 250),
        "managed-lustre": (None, 500),
    }
    for kind, (tier, throughput) in sizes.items():
        one, two = (sold_speed(kind, tier, gib, throughput) for gib in (2048, 4096))
        assert two.mb_per_s == 2 * one.mb_per_s > 0
