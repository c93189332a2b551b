"""The cluster that a cloud is to run: its network, who reaches it, and the proofs about them."""
