"""Whether sharing really shares: what a pod that has one share of a node sees of it, and what it may take."""
