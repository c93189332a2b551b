"""What is inside a cluster of the fake clouds: a control plane that answers, who may enter, and its nodes."""
