"""Readers that several rules share, by subject: pods, pools, queries, tenants."""
