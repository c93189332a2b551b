"""What lets a machine with nothing but package registries run the real engine and a real control plane."""
