"""Base class of all components: options, objects and their order of creation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pulumi

from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import resolve_outputs, unresolved_output_names
from gpuyard.render.charts import Release, release_object
from gpuyard.render.dependencies import ObjectPlace, dependencies_of, object_key
from gpuyard.resources.errors import PlatformRejected, missing_provider_finding
from gpuyard.resources.late_inputs import bind_outputs
from gpuyard.resources.objects import register_object
from gpuyard.resources.provider import ClusterProvider, names_cluster, provider_of
from gpuyard.sdk_classes import sdk_version
from gpuyard.spec.sections import Apply
from gpuyard_core.errors import UsageError
from gpuyard_core.names import EXISTING_ANNOTATION, KUEUE_GROUP, PROTECT_ANNOTATION

RELEASE_TYPE = "kubernetes:helm.sh/v3:Release"


def register_release(
    parent: pulumi.Resource, release: Release, opts: pulumi.ResourceOptions | None = None
) -> pulumi.CustomResource:
    """Register a release under `parent`, named as an object: `<parent>:Release:<namespace>/<name>`."""
    inputs: dict[str, Any] = {
        "name": release.name,
        "namespace": release.namespace,
        "chart": release.chart,
        "values": dict(release.values),
        "skipAwait": True,
    }
    if release.repository:
        inputs["repositoryOpts"] = {"repo": release.repository}
    if release.is_remote:  # a local chart folder has only one version
        inputs["version"] = release.version
    ours = pulumi.ResourceOptions(version=sdk_version("kubernetes"))
    merged_opts = pulumi.ResourceOptions.merge(ours, opts)
    merged_opts = pulumi.ResourceOptions.merge(merged_opts, pulumi.ResourceOptions(parent=parent))
    name = f"{parent.pulumi_resource_name}:Release:{release.namespace}/{release.name}"
    return pulumi.CustomResource(RELEASE_TYPE, name, inputs, merged_opts)


_T = TypeVar("_T")
_HELD = f"{KUEUE_GROUP}/"
"""Kueue keeps finalizers on its objects while a job uses them. A destroy deletes them after the
namespaces and jobs that used them, so a finalizer left by then belongs to another user or to a
controller that no longer runs.
"""
_HELD_AT_MOST = "3m"
"""Timeout after which a destroy fails with the object's name and finalizers; the provider's default
is 10 minutes.
"""


class Component(pulumi.ComponentResource):
    """Base class of gpuyard components: registers Kubernetes objects as its children.

    Each object waits for what the component depends on (`depends_on`) and for the objects that it
    references, so that a destroy deletes them in reverse order.
    """

    def __init__(
        self,
        token: str,
        name: str,
        state: Mapping[str, Any],
        opts: pulumi.ResourceOptions | None,
        plan: PlatformPlan | None = None,
    ) -> None:
        """With `plan`, a component without a provider uses the cluster, or the folder, that the plan names."""
        _refuse_two_providers(name, opts)
        super().__init__(token, name, dict(state), opts)
        self._waits_for = pulumi.ResourceOptions(depends_on=opts.depends_on if opts else None)
        provider = self.get_provider("kubernetes:core/v1:Namespace")
        self._ours = provider if isinstance(provider, ClusterProvider) else None
        self._called = name
        self._has_provider = provider is not None
        self._inside: ClusterProvider | None = None
        self._objects: dict[ObjectPlace, pulumi.CustomResource] = {}
        self._volumes: dict[ObjectPlace, pulumi.CustomResource] = {}
        if plan is not None and self._lacks_provider(plan) and names_cluster(plan):
            kind = "rendered" if plan.spec.apply is Apply.RENDER else "kubernetes"
            below = pulumi.ResourceOptions(parent=self)
            if (named := provider_of(plan, f"{name}-{kind}", opts=below)) is not None:
                self._enter(named)

    def _lacks_provider(self, plan: PlatformPlan) -> bool:
        """Whether neither options nor the stack's configuration name a cluster, or a folder for manifests."""
        rendered = plan.spec.apply is Apply.RENDER
        return not self._has_provider and not self._is_configured(rendered=rendered)

    def _register(
        self,
        objects: Iterable[Mapping[str, Any]],
        late: Mapping[str, pulumi.Input[Any]] | None = None,
        first: pulumi.ResourceHookBinding | None = None,
        stays: Sequence[str] = (),
        after: Iterable[pulumi.Resource] = (),
    ) -> list[pulumi.CustomResource]:
        """Register objects in order, late values bound to the outputs that `late` names.

        `first` are hooks of each object in addition to the provider's. `stays` are fields that
        never change after creation. Each object waits for `after`.
        """
        resources: list[pulumi.CustomResource] = []
        objects, after = list(objects), list(after)
        if objects and not (self._has_provider or self._inside or self._is_configured()):
            raise PlatformRejected(
                f"{type(self).__name__} {self._called}", [missing_provider_finding()]
            )
        for obj in objects:
            named = [self._objects[key] for key in dependencies_of(obj) if key in self._objects]
            bound = bind_outputs(obj, late or {})
            opts = _held_at_most(obj, self._after([*after, *named]))
            opts = self._hooked(_with_retention(obj, opts), first)
            if stays:
                opts.ignore_changes = list(stays)
            opts = _replaced_together(obj, opts, self._volumes.get(object_key(obj)))
            resource = register_object(self, bound, opts, theirs=_theirs(obj))
            self._objects[object_key(obj)] = resource
            if obj["kind"] == "PersistentVolume":
                self._volumes[_claim_of(obj)] = resource
            resources.append(resource)
        return resources

    def _register_chart(
        self,
        plan: PlatformPlan,
        release: Release,
        after: Iterable[pulumi.Resource],
        name: str = "",
        first: pulumi.ResourceHookBinding | None = None,
        late: Mapping[str, pulumi.Input[Any]] | None = None,
    ) -> pulumi.CustomResource:
        """Install a chart; in rendered manifests, register an object with its values as text."""
        known = dict(late or {})
        if plan.spec.apply is Apply.RENDER:
            return self._register([_written_release(plan.name, release, name, known)])[0]
        values = bind_outputs(dict(release.values), known)
        bound = replace(release, values=values)
        return register_release(self, bound, self._hooked(self._after(after), first))

    @staticmethod
    def _is_configured(*, rendered: bool = False) -> bool:
        """Whether the stack configures the default Kubernetes provider, as in `kubernetes:context: blue`.

        If `rendered`, with a folder for manifests: they never reach a cluster.
        """
        config = pulumi.Config("kubernetes")
        clusters = () if rendered else ("kubeconfig", "context")
        return any(config.get(key) for key in (*clusters, "renderYamlToDirectory"))

    def _expect(self, group: str) -> None:
        """Make each object of an API group wait until the API server serves its kind."""
        if self._ours is not None:
            self._ours.chart_api_groups.add(group)

    def _after(self, resources: Iterable[pulumi.Resource]) -> pulumi.ResourceOptions:
        """Options to wait for these, and for all that the component itself waits for."""
        return pulumi.ResourceOptions.merge(
            self._waits_for,
            pulumi.ResourceOptions(depends_on=list(resources), provider=self._inside),
        )

    def _enter(self, provider: ClusterProvider) -> None:
        """Use this provider for further objects; its cluster is a child of this component."""
        self._ours = self._inside = provider

    def _hooked(
        self, opts: pulumi.ResourceOptions, first: pulumi.ResourceHookBinding | None = None
    ) -> pulumi.ResourceOptions:
        """With `first` and the provider's hooks, which children do not inherit from their parent."""
        opts.hooks = self._ours.error_hooks if self._ours is not None else None
        return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(hooks=first))

    def _child(self, waits_for: Iterable[pulumi.Resource] = ()) -> pulumi.ResourceOptions:
        """Options for a component below this one."""
        return pulumi.ResourceOptions.merge(
            self._after(waits_for), pulumi.ResourceOptions(parent=self)
        )

    def _object(self, kind: str, name: str, namespace: str = "") -> pulumi.CustomResource:
        """An object that this component registered, by kind, name and namespace."""
        return self._objects[kind, namespace, name]


def _written_release(
    owner: str, release: Release, name: str, late: Mapping[str, pulumi.Input[Any]]
) -> dict[str, Any]:
    """The object with the values of a chart. Its name is known immediately, late values possibly later."""

    def written(got: Mapping[str, Any]) -> dict[str, Any]:
        values = resolve_outputs(dict(release.values), got.__getitem__)
        return release_object(owner, replace(release, values=values), name)

    needed = sorted(unresolved_output_names(release.values))
    shown = written(dict.fromkeys(needed, ""))
    if needed:
        every = pulumi.Output.all(**{each: late[each] for each in needed})
        shown["data"] = every.apply(lambda got: written(got)["data"])
    return shown


def _held_at_most(obj: Mapping[str, Any], opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
    if str(obj["apiVersion"]).startswith(_HELD):
        opts.custom_timeouts = pulumi.CustomTimeouts(delete=_HELD_AT_MOST)
    return opts


def _claim_of(volume: Mapping[str, Any]) -> ObjectPlace:
    """The claim that a volume is reserved for."""
    claim = volume["spec"]["claimRef"]
    return claim["kind"], claim["namespace"], claim["name"]


def _replaced_together(
    obj: Mapping[str, Any], opts: pulumi.ResourceOptions, volume: pulumi.Resource | None
) -> pulumi.ResourceOptions:
    """Replace a claim with its volume: a bound volume is not deleted, and binds to no new claim."""
    if obj["kind"] == "PersistentVolume":
        opts.replace_on_changes, opts.delete_before_replace = ["spec.accessModes"], True
    if volume is not None:
        pair = pulumi.ResourceOptions(
            depends_on=[volume], replace_with=[volume], delete_before_replace=True
        )
        return pulumi.ResourceOptions.merge(opts, pair)
    return opts


def _with_retention(obj: Mapping[str, Any], opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
    """A protected namespace stays on deletion: Pulumi only removes it from the state."""
    if (obj["metadata"].get("annotations") or {}).get(PROTECT_ANNOTATION) == "true":
        opts.retain_on_delete = True
    return opts


def _theirs(obj: Mapping[str, Any]) -> bool:
    """An existing namespace: gpuyard adds its fields, and removes only those on deletion."""
    return (obj["metadata"].get("annotations") or {}).get(EXISTING_ANNOTATION) == "true"


def after_created(value: _T, *resources: pulumi.Resource) -> pulumi.Output[_T]:
    """A known value as an output that is available once the resources exist."""
    return pulumi.Output.all(*(resource.urn for resource in resources)).apply(lambda _: value)


def _refuse_two_providers(name: str, opts: pulumi.ResourceOptions | None) -> None:
    """The SDK warns and uses the one in `providers`; gpuyard rejects the ambiguity instead."""
    if opts is None or opts.provider is None or not opts.providers:
        return
    providers = opts.providers.values() if isinstance(opts.providers, Mapping) else opts.providers
    package = opts.provider.package
    if package in {one.package for one in providers}:
        raise RefusedOptions(
            f"{name}: opts.provider and opts.providers both set a provider of package {package}, "
            "allowed: one provider for each package; fix: remove one of them"
        )


class RefusedOptions(pulumi.RunError, UsageError):
    """Options that contradict each other."""
