"""Readers that several rules share, by what is read: pods, pools, queries, tenants."""
