"""Hardware validation during a deployment: its component and the evaluation of its results."""
