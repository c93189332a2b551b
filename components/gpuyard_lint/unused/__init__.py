"""Disabled resources: by their deployer, by a parent chart, or by the name of their folder."""
