"""Views of commands: tables, text, JSON documents, and paths into a plan."""
