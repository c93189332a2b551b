"""One module for each command: arguments in, exit code out."""
