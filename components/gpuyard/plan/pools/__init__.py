"""Node pools: machines, labels, topology, images, room for pods."""
