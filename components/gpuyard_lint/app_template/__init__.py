"""The app-template chart of bjw-s: values that describe pods of any kind, and the resulting objects."""
