"""`python -m gpuyard_gate --settings FILE`."""

import sys

from gpuyard_gate.command import main

sys.exit(main())
