"""What the services behind the providers hold to: ties, collisions, machines, protection."""
