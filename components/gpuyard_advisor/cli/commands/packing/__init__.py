"""The subcommands of `gpuyard pack`."""
