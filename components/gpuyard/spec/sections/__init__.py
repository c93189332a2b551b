"""The optional sections of a stack file: everything besides pools, teams and queues.

Most have defaults. `gpuyard check` reports every section that this release does not carry out.
"""

from gpuyard.spec.sections.addons import Addon, AddonName, OperatorSpec
from gpuyard.spec.sections.cluster import (
    Apply,
    ClusterSpec,
    Consents,
    Freeze,
    LogKind,
    Maintenance,
    Mirror,
    Nat,
    PrivateEndpoints,
)
from gpuyard.spec.sections.inventory import InventoryNode, MachineInventory, MachineInventoryRef
from gpuyard.spec.sections.nodes import (
    Commitment,
    DisruptionWindow,
    FabricKind,
    FabricSpec,
    KeepWarmWindow,
    MachinePrice,
    Numa,
    PoolStopPolicy,
    Prices,
    Provisioning,
    RdmaPlugin,
    Upgrade,
)
from gpuyard.spec.sections.observability import (
    Alerts,
    Observability,
    Prometheus,
    Receiver,
    SecretKey,
    Smtp,
    Targets,
)
from gpuyard.spec.sections.services import (
    ScaleOn,
    ScheduleWindow,
    Service,
    ServiceKind,
)
from gpuyard.spec.sections.storage import Dataset, DatasetKind, Storage, StoreTier
from gpuyard.spec.sections.workloads import (
    Admission,
    Enforce,
    Framework,
    TrainingRuntime,
    Workloads,
)
from gpuyard_core.models.values import Policies
