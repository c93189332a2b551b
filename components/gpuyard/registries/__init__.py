"""Image sizes from registries by the OCI distribution protocol, without authentication."""
