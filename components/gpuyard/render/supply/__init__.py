"""What a platform brings into a cluster from outside."""
