"""A stand-in for `pulumi-language-python`; see ../README.md for what it copies and what it leaves out."""
