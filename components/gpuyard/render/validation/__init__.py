"""The check of hardware: what each node must be, and the pods that hold it against that."""
