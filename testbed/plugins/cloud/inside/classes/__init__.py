"""ComputeClasses inside a fake GKE cluster: what one is, what GKE says of it, and how its pools grow."""
