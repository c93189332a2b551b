"""Google Cloud with GKE: the provider, and its decisions by subject."""
