"""What a cloud asks of whoever makes, reads, changes and deletes a resource: actions of AWS, permissions of Google."""
