"""Import of an existing cluster into a stack: the `pulumi import` id of each resource of its graph.

`lookup_commands.yaml` has the queries to a cloud. `resource_search` matches their results to resources, and
writes the import file.
"""
