"""Rules on Google Cloud and GKE."""
