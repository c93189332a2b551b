"""Image registries, in tests."""
