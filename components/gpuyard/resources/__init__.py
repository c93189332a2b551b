"""Pulumi components: names, parents, providers and late values, no decisions."""
