"""ComputeClasses inside a fake GKE cluster: their definition, GKE's status of them, and how their pools grow."""
