"""Commands about a deployment that has begun."""
