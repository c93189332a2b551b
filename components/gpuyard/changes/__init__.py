"""Planned changes to the deployed state, computed from plain values before Pulumi runs.

`deployed_state` reads the state, `fields` compares one resource as its provider does, `graphs` a whole graph,
`platforms` pools and teams; `planned_changes` lists the disruptions, and `findings` reports them.
"""
