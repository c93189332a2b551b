"""The command line of the linter."""
