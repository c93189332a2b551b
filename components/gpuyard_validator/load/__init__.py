"""Work that one GPU is given, and what it makes of it: copies, products of matrices, steps of a training."""
