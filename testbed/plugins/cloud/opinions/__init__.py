"""Independent checks of the requests of gpuyard's graphs, by the clouds' own models as closed schemas."""
