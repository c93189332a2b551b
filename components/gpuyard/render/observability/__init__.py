"""PromQL against the metric table and the pools: queries that would return nothing or count a GPU twice."""
