"""Views of commands: tables, trees, documents and paths of plans."""
