"""Rules on admission: what team pods are held to."""
