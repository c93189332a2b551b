"""Facts as text tables: GPUs, machines, fabrics, advisories. The modules of the catalogue parse them."""
