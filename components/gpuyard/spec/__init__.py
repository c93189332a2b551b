"""The models of a stack file. `platform.py` has the root model; every field has a description."""
