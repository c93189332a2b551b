"""The cluster on a cloud: its network and access, and the checks of both."""
