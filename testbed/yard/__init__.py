"""`make up`, `make demo`, `make down`: a platform on a simulated cluster, from nothing to nothing."""
