"""Platform advice: sharing mode, machines, capacity, redundancy, risks and cost of owned GPUs, from typed answers."""
