"""Inside a cluster of the fake clouds: the control plane, access to it, and its nodes."""
