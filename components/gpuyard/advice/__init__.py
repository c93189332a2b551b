"""Questions that need no plan: what a job is, which machine to take, how to pack slices."""
