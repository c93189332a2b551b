"""How fast a pod reads the volumes that jobs read: one node of a pool tries it, and holds it to a floor."""
