"""Node pools: machines, labels, topology, images and allocatable resources."""
