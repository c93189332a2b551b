"""Who serves images, in tests."""
