"""The vocabulary of a stack file. `platform.py` holds the root; every field says what it means."""
