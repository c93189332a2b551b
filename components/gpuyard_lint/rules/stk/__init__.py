"""Rules on the software stack."""
