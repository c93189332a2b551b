"""Pins with later patch versions than the upstream files with which tests compare them."""

PARTS_BEHIND = {
    "driver-manager": "0.12.0",
    "container-toolkit": "1.20.0",
    "device-plugin": "0.20.0",
    "gpu-feature-discovery": "0.20.0",
    "mig-manager": "0.15.0",
    "dcgm": "4.6.0-1",
    "dcgm-exporter": "4.6.0-4.8.3",
}
"""Parts of GPU Operator 26.7.0, whose values upstream/ keeps; the pins are those of 26.7.1."""
