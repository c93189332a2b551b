"""What runs in every cluster: Kubernetes itself, its autoscalers, Kueue, and GPUs that are claimed."""
