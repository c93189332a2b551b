"""Changes in a fake cloud without a call: nodes join with a delay, and some are interrupted."""
