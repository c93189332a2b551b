"""A stand-in for `pulumi-resource-kubernetes`; see ../README.md for what it copies and what it leaves out."""
