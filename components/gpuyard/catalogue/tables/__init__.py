"""Rows of facts as text: GPUs, machines, fabrics, advisories. The modules above read them."""
