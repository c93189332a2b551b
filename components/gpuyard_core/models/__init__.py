"""Base classes of validated models, their value types, and their errors as findings."""
