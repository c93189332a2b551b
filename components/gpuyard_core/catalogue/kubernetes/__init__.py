"""Software of every cluster: Kubernetes, autoscalers, Kueue and dynamic resource allocation."""
