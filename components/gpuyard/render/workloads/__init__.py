"""Training runtimes, services and the manifests of jobs as Kubernetes objects."""
