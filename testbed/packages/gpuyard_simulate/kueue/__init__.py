"""The real Kueue of the simulated cluster: its process and its certificates."""
