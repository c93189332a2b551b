"""Platforms with a store of each kind, one on each cloud."""

from kit.stacks import platform, pool, team

STORED = {
    "aws": platform(
        [pool(nodes=1, zones=["us-east-1a"])],
        [team()],
        cloud="aws",
        cluster={"protect": False, "zones": ["us-east-1a", "us-east-1b"]},
        storage={
            "datasets": [
                {"name": "home", "kind": "efs", "writers": ["vision"]},
                {"name": "fast", "kind": "fsx-lustre", "bucket": "our-corpus"},
                {"name": "web", "kind": "bucket"},
            ],
            "checkpoints": {},
        },
    ),
    "gcp": platform(
        [pool(machine="a3-megagpu-8g", nodes=1, zones=["us-central1-a"])],
        [team()],
        cloud="gcp",
        cluster={"protect": False},
        storage={
            "datasets": [
                {"name": "home", "kind": "filestore", "writers": ["vision"]},
                {"name": "fast", "kind": "managed-lustre", "writers": ["vision"]},
                {"name": "web", "kind": "bucket"},
            ],
            "checkpoints": {},
        },
    ),
}
