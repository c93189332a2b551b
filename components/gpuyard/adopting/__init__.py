"""Import of an existing cluster into a stack: the `pulumi import` id of each resource of its graph.

`identities` has the formats of ids, `lookup_commands` the queries to a cloud, `matching` matches results to
resources, `resource_search` runs the search, and `import_file` writes the result.
"""
