"""One module a command: arguments in, exit code out."""
