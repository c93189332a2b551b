"""Storage: what is sold, who has it, and what is wrong with it."""
