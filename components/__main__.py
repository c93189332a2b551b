"""The plugin: serves the components to Pulumi programs in other languages."""

from gpuyard.resources.hosting import serve

if __name__ == "__main__":
    serve()
