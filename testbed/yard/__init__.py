"""`make up`, `make demo`, `make down`: a platform on a simulated cluster, from creation to removal."""
