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
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.errors import PlatformRejected
from gpuyard.resources.late_inputs import bind_outputs
from gpuyard.resources.objects import child_options, register_object
from gpuyard.resources.provider import ClusterProvider, names_cluster, provider_of
from gpuyard.spec.sections import Apply
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Fix, error
from gpuyard_core.names import EXISTING_ANNOTATION, KUEUE_GROUP, PROTECT_ANNOTATION

RELEASE_TYPE = "kubernetes:helm.sh/v3:Release"

_T = TypeVar("_T")
_HELD_AT_MOST = "3m"
"""Timeout after which a destroy fails with the name and finalizers of an object of Kueue; the provider's default
is 10 minutes. Kueue keeps finalizers on its objects while a job uses them. A destroy deletes them after the
namespaces and jobs that used them, so a finalizer left by then belongs to another user or to a controller that no
longer runs.
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

    @property
    def _kubectl(self) -> Kubectl | None:
        """Access to the cluster of gpuyard's provider; None with another provider, or without a cluster."""
        return self._ours.kubectl if self._ours is not None else None

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
            finding = error(
                "args.provider",
                ("opts", "providers"),
                "the component has no Kubernetes provider; the kubeconfig's current context is "
                "never a default",
                given="no provider",
                allowed="a Kubernetes provider, or `kubernetes:context` in the stack's configuration",
                fix=Fix(
                    message="pass opts=pulumi.ResourceOptions(providers=[platform.provider]), or on "
                    "a cluster of your own set cluster.existing"
                ),
            )
            raise PlatformRejected(f"{type(self).__name__} {self._called}", [finding])
        for obj in objects:
            named = [self._objects[key] for key in dependencies_of(obj) if key in self._objects]
            bound = bind_outputs(obj, late or {})
            opts = self._hooked(self._after([*after, *named]), first)
            if stays:
                opts.ignore_changes = list(stays)
            own = _object_options(obj, self._volumes.get(object_key(obj)))
            opts = pulumi.ResourceOptions.merge(opts, own)
            theirs = _is_set(obj, EXISTING_ANNOTATION)
            resource = register_object(self, bound, opts, theirs=theirs)
            self._objects[object_key(obj)] = resource
            if obj["kind"] == "PersistentVolume":
                claim = obj["spec"]["claimRef"]
                self._volumes[claim["kind"], claim["namespace"], claim["name"]] = resource
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
        """Install a chart as `<component>:Release:<namespace>/<name>`.

        In rendered manifests, register an object with its values as text.
        """
        known = dict(late or {})
        if plan.spec.apply is Apply.RENDER:
            return self._register([_written_release(plan.name, release, name, known)])[0]
        inputs: dict[str, Any] = {
            "name": release.name,
            "namespace": release.namespace,
            "chart": release.chart,
            "values": bind_outputs(dict(release.values), known),
            "skipAwait": True,
        }
        if release.repository:
            inputs["repositoryOpts"] = {"repo": release.repository}
        if release.is_remote:  # a local chart folder has only one version
            inputs["version"] = release.version
        called = f"{self._called}:Release:{release.namespace}/{release.name}"
        opts = child_options(self, self._hooked(self._after(after), first))
        return pulumi.CustomResource(RELEASE_TYPE, called, inputs, opts)

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


def _object_options(
    obj: Mapping[str, Any], volume: pulumi.Resource | None
) -> pulumi.ResourceOptions:
    """Options of an object, and of a claim with its volume.

    A protected namespace stays on deletion: Pulumi only removes it from the state. A claim is replaced with its
    volume: a bound volume is not deleted, and binds to no new claim.
    """
    opts = pulumi.ResourceOptions()
    if str(obj["apiVersion"]).startswith(f"{KUEUE_GROUP}/"):
        opts.custom_timeouts = pulumi.CustomTimeouts(delete=_HELD_AT_MOST)
    if _is_set(obj, PROTECT_ANNOTATION):
        opts.retain_on_delete = True
    if obj["kind"] == "PersistentVolume":
        opts.replace_on_changes, opts.delete_before_replace = ["spec.accessModes"], True
    if volume is not None:
        opts.depends_on, opts.replace_with, opts.delete_before_replace = [volume], [volume], True
    return opts


def _is_set(obj: Mapping[str, Any], annotation: str) -> bool:
    return (obj["metadata"].get("annotations") or {}).get(annotation) == "true"


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
