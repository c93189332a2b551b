"""What a pool's nodes are held against when they are there, and the work they are put to."""
