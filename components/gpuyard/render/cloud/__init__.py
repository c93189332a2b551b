"""What is bought at a cloud, as plain values: `graph` is the form that every cloud's graph has."""
