"""Rules on state: protection and secrets."""
