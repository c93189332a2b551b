"""The check of hardware that a deployment waits for: its component, and looks at what became of it."""
