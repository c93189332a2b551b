"""Rules of the services behind the providers: dependencies, collisions, machines, protection."""
