"""What Flux and Argo CD make of what they deploy."""
