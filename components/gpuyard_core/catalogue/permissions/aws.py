"""AWS actions for each kind of resource, the resources on which they can be allowed, and passed roles.

Sources: `aws-forms.linked`, `aws-forms.amp`, `aws-forms.authorization`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from gpuyard_core.catalogue.lists import find_list
from gpuyard_core.catalogue.sources import Source, find_source
from gpuyard_core.catalogue.tables import read_yaml

HANDLERS = find_source("aws-forms.handlers")
MANAGED_POLICY_CHARACTERS = 6144
"""Maximum characters of a managed policy, without white space (IAM user guide, quotas)."""


@dataclass(frozen=True, slots=True)
class PassedRole:
    """A role that the creator of a resource passes to a service."""

    field: str
    """The field of the resource with the role's ARN."""
    services: tuple[str, ...]
    """Values of `iam:PassedToService`."""


@dataclass(frozen=True, slots=True)
class ServiceRole:
    """A service-linked role, which is created once in an account with the permissions of the first user."""

    service: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsKind:
    """One kind of resource: actions by operation, and the resources on which they can be allowed."""

    create: tuple[str, ...]
    read: tuple[str, ...]
    update: tuple[str, ...] = ()
    delete: tuple[str, ...]
    tags: tuple[str, ...] = ()
    arns: tuple[str, ...]
    """Its own ARNs after `arn:PARTITION:`; `{…}` is a field of it, `{own}` the name that Pulumi generates."""
    ownership_tag: str = ""
    """The tag that marks it as gpuyard's; empty if it has none."""
    additional_resources: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    """Other gpuyard resources that an action affects, by action."""
    passed_roles: tuple[PassedRole, ...] = ()
    linked: tuple[ServiceRole, ...] = ()
    keys: tuple[str, ...] = ()
    """Fields with a KMS key, for which the service creates a grant with the caller's permissions."""
    source: Source = HANDLERS

    @property
    def actions(self) -> tuple[str, ...]:
        """All actions, each once."""
        every = (*self.create, *self.read, *self.update, *self.delete, *self.tags)
        return tuple(dict.fromkeys(every))


@dataclass(frozen=True, slots=True)
class AwsCall:
    """Actions of a provider function and their resource; empty if the provider needs no API call."""

    actions: tuple[str, ...]
    arn: str = ""


@dataclass(frozen=True, slots=True)
class AwsActions:
    """Actions by resource and function, and properties of single actions (`AUTHORIZATION`)."""

    kinds: Mapping[str, AwsKind]
    calls: Mapping[str, AwsCall]
    without_resource: frozenset[str]
    """Actions without resource-level permissions: they can only be allowed on `*`."""
    tagged_on_create: frozenset[str]
    """Actions without a resource whose request has the new tags: on `*`, only with gpuyard's tag."""
    create_actions: frozenset[str]
    """Actions whose new resource has no tag yet: the request has it."""
    adds_tags: frozenset[str]
    """Actions that AWS also requires to create a resource with tags, when it has none yet."""


@cache
def aws_actions() -> AwsActions:
    """The table of actions."""
    actions: AwsActions = read_yaml("aws_permissions", AwsActions)
    return actions


LAUNCHES = find_list("launched-resources")
"""Resources of `ec2:RunInstances`, which EKS checks with the caller's permissions for launch templates."""
