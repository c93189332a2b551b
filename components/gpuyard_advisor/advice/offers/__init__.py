"""Offers of the catalogue for a need, ranked."""
