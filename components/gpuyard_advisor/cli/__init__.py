"""Commands of `gpuyard` about a platform, and the text and JSON that they print."""
