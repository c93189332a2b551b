"""How Flux and Argo CD change what they deploy."""
