"""The cluster under the platform, and how objects, images and charts get there."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import ImagePrefix, Switch, Text, wrong


class ClusterSpec(SpecModel):
    """The Kubernetes cluster under the platform."""

    existing: Text | None = None
    """A cluster, or kubeconfig context, that exists already. Default: your kubeconfig's current one."""
    protect: Switch = True
    """Refuse to delete the cluster and its pools. Default on: nobody rebuilds a fleet by a slip."""


class Mirror(SpecModel):
    """Where images and charts come from in a closed network."""

    images: ImagePrefix
    """The registry, with path, that holds a copy of every image."""
    charts: Text | None = None
    """Where charts are taken from. Default: from the same registry, as OCI artifacts."""
    prepull: Switch = False
    """Put large images on new nodes before pods need them. Default off."""


class Apply(StrEnum):
    """How objects reach the cluster.

    `cluster` applies them in `pulumi up`; `render` writes plain manifests for a GitOps repository.
    """

    CLUSTER = "cluster"
    RENDER = "render"


def parse_consent(value: object) -> object:
    """A digest as `gpuyard plan` prints it."""
    if not isinstance(value, str) or not value.startswith("sha256:"):
        raise wrong(
            "consent_form",
            "not a digest of a plan",
            allowed="sha256:… as `gpuyard plan` prints it",
        )
    return value


Consent = Annotated[
    Text, BeforeValidator(parse_consent), WithJsonSchema({"type": "string", "pattern": "^sha256:"})
]
