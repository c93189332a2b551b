"""The terminal: console, tables, plain text, streams."""
