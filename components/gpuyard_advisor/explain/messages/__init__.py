"""The messages of explanations, by subject."""
