"""How the suite runs: the choice of live tests, and their distribution to workers."""
