"""YAML as a text: where in it each value stands."""
