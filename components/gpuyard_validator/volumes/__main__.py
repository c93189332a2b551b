"""`python -m gpuyard_validator.volumes`."""

import sys

from gpuyard_validator.volumes.command import main

sys.exit(main())
