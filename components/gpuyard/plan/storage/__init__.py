"""Storage: what clouds sell, which teams use it, and what is wrong with it."""
