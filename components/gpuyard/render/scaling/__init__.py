"""Objects that keep nodes without jobs."""
