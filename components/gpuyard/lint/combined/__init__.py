"""What of many files goes together, and what the rules have to say of that."""
