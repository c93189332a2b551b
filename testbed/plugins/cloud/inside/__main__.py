"""`aws` and `gke-gcloud-auth-plugin`: started by the wrappers in ../bin."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

from testbed.plugins.cloud.inside.stand_ins import main

main()
