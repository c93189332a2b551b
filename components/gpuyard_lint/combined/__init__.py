"""Files that are deployed together, and the rules' results on them."""
