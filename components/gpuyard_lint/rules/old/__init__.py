"""Rules on versions of APIs."""
