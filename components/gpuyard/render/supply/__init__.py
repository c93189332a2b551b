"""Images and charts that a platform needs from outside the cluster."""
