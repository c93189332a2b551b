"""Permissions to create, read, update and delete resources: actions of AWS, permissions of Google Cloud."""
