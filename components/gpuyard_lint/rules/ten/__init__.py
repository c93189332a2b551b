"""Rules on tenants and their namespaces."""
