"""The sentences of an answer, by subject."""
