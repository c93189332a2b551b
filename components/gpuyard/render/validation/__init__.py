"""Hardware validation: what each node must have, and the pods that check it."""
