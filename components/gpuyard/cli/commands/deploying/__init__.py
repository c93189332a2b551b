"""Commands for deployments: images, permissions, adopt, recover, validate."""
