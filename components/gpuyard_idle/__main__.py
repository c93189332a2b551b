"""`python -m gpuyard_idle`."""

import sys

from gpuyard_idle.command import main

sys.exit(main())
