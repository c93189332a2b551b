"""What comes and goes by itself in a fake cloud: nodes take their time, and some are taken back."""
