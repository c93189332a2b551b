"""Error hooks: diagnoses in addition to the provider's error if an object cannot be created or deleted.

A hook also retries: an object waits for its CRD if a chart of the same program installs it, for
its webhook if that does not respond, and is created again after a quota write conflict.

The provider names the object. Its owner, or what blocks a namespace, needs a further query. Pulumi
calls an error hook only when an operation has failed, so a successful deployment has no extra cost.
Hooks belong to the program: a `destroy` needs `--run-program` for them. Without it the engine shows
only the provider's error, and docs/guides/existing-kueue.md lists the commands for the diagnosis.
https://www.pulumi.com/docs/iac/concepts/resources/options/hooks
"""

import asyncio
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pulumi
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import monitor_supports_feature

from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.diagnosis.missing_crds import (
    MissingKind,
    missing_kind_message,
    missing_kind_retry,
    parse_missing_kind,
)
from gpuyard.resources.diagnosis.ownership import field_managers, owner_of
from gpuyard.resources.diagnosis.removed_teams import admitted_workloads
from gpuyard.resources.validation.job_results import failed_check_message, is_node_validation_job
from gpuyard_core.names import GPU_OPERATOR_NAMESPACE, PLATFORM_LABEL, TEAM_LABEL

_NUMBERS = itertools.count(1)
_EXISTS = "already exists"
_TIMED_OUT = "timed out"
_IN_USE = "resource-in-use"
"""Kueue's finalizer on a ClusterQueue with admitted workloads."""
_HELM_MET = re.compile(r'(\w+) "([^"]+)" in namespace "([^"]*)" exists and cannot be imported')
_NAMED_FOR = {
    "Namespace": "the team",
    "Node": "the pool",
    "ResourceFlavor": "the pool",
    "WorkloadPriorityClass": "the priority",
}
"""Objects without the platform's name: which part of the stack file determines the name of each."""
_RESOURCES = re.compile(r"(\S+?)\.? has \d+ resource instances")
_ALL_SHOWN = 10
_AGGREGATION = "clusterrole-aggregation-controller"


class TransientError(NamedTuple):
    """An error after which the same request succeeds later."""

    pattern: re.Pattern[str]
    message: str
    tries: int
    pause_seconds: float


WEBHOOK = TransientError(
    re.compile(
        r'failed calling webhook "(?P<name>[^"]+)": failed to call webhook: .*?'
        r"(connection refused|connection reset by peer|no endpoints available|no route to host|i/o timeout"
        r"|context deadline exceeded|Client\.Timeout exceeded|unexpected EOF|: EOF"
        r"|TLS handshake (timeout|error)|certificate signed by unknown authority)",
        re.DOTALL,
    ),
    "webhook {} does not respond yet",
    tries=12,
    pause_seconds=5.0,
)
"""All tries take one minute, in which pods start and their endpoints appear."""
QUOTA_CONFLICT = TransientError(
    re.compile(
        r'Operation cannot be fulfilled on resourcequotas "(?P<name>[^"]+)": the object has been modified'
    ),
    "two writers changed quota {} at the same time",
    tries=10,
    pause_seconds=1.0,
)
"""Each counted object updates its ResourceQuota, and so does the controller that recounts it. After
some conflicts the API server fails the creation, and the official provider gives up. An exceeded
quota has another message. https://github.com/helm/helm/issues/9710
"""


def hooks_of(
    name: str, kubectl: Kubectl, brought: Collection[str]
) -> pulumi.ResourceHookBinding | None:
    """The hooks for objects of the provider `name`; None if the engine (or a mock) supports none.

    `brought` are the API groups whose kinds the program's charts install, filled while it runs.
    """
    if not monitor_supports_feature(resource_pb2.RESOURCE_MONITOR_FEATURE_ERROR_HOOKS):
        return None

    async def tell(args: pulumi.ErrorHookArgs) -> bool:
        if again := missing_kind_retry(args, brought):
            pulumi.log.info(again)
            return True
        tried = len(args.errors)
        for each in (WEBHOOK, QUOTA_CONFLICT):
            match = each.pattern.search(args.errors[0]) if args.errors else None
            if match and tried < each.tries:
                message = each.message.format(match["name"])
                pulumi.log.info(f"{message}; retrying ({tried} of {each.tries})")
                await asyncio.sleep(each.pause_seconds)
                return True
        try:
            # A warning: the provider reports the error, and a hook of the user may still retry it.
            if explanation := await explain_error(kubectl, args, brought):
                pulumi.log.warn(explanation)
        except Exception as problem:  # noqa: BLE001  an explanation that fails must not hide the failure
            pulumi.log.debug(f"gpuyard could not diagnose the failure of {args.urn}: {problem}")
        return False

    # The state stores a hook's name: it must be unique and the same at each run.
    return pulumi.ResourceHookBinding(
        on_error=[pulumi.ErrorHook(f"gpuyard:{name}:{next(_NUMBERS)}", tell)]
    )


async def explain_error(
    kubectl: Kubectl, args: pulumi.ErrorHookArgs, brought: Collection[str] = ()
) -> str | None:
    """The diagnosis from a query of the cluster, or None."""
    error = args.errors[0] if args.errors else ""
    obj = args.new_inputs or args.old_inputs or {}
    if kind := parse_missing_kind(args):
        return await _unserved(kubectl, kind, obj, brought)
    if args.failed_operation == "create" and (match := _HELM_MET.search(error)):
        return await _met_by_helm(kubectl, *match.groups())
    if args.failed_operation == "create" and _EXISTS in error:
        return await _name_conflict_message(kubectl, obj)
    if args.failed_operation in {"create", "update"} and is_node_validation_job(obj):
        return await failed_check_message(kubectl, obj)
    if args.failed_operation == "delete":
        blocked = {"Namespace": (_TIMED_OUT, _stuck), "ClusterQueue": (_IN_USE, _queue_in_use)}
        text, explain = blocked.get(str(obj.get("kind")), ("", None))
        if explain is not None and text in "\n".join(args.errors):
            return await explain(kubectl, obj["metadata"]["name"])
    return None


def _named(kind: str, name: str, namespace: str | None) -> list[str]:
    """The arguments that select an object in kubectl."""
    return [kind, name, *(["-n", namespace] if namespace else [])]


def _to_look(kubectl: Kubectl, where: list[str]) -> str:
    """The command that shows an object with its field managers."""
    return kubectl.command("get", *where, "-o", "yaml", "--show-managed-fields")


async def _name_conflict_message(kubectl: Kubectl, obj: Mapping[str, Any]) -> str:
    meta = obj["metadata"]
    group = obj["apiVersion"].rpartition("/")[0]
    kind = f"{obj['kind'].lower()}{'.' if group else ''}{group}"
    where = _named(kind, meta["name"], meta.get("namespace"))
    live = await kubectl.get(*where)
    if live is None:
        owner = f"Its labels and managedFields show the owner: {_to_look(kubectl, where)}"
    else:
        owner = owner_of(live, (meta.get("labels") or {}).get(PLATFORM_LABEL))
    return (
        f"{obj['kind']} {meta['name']} exists already, and this stack did not create it.\n  "
        f"{owner}\n  fix: {_name_conflict_fix(live, obj)}"
    )


def _name_conflict_fix(live: Mapping[str, Any] | None, obj: Mapping[str, Any]) -> str:
    labels = (live or {}).get("metadata", {}).get("labels") or {}
    platform = (obj["metadata"].get("labels") or {}).get(PLATFORM_LABEL)
    command = f"`gpuyard recover {pulumi.get_stack()}`"
    if platform is not None and labels.get(PLATFORM_LABEL) == platform:
        return f"if no other stack manages it, {command} adopts it; then run `pulumi up` again"
    if TEAM_LABEL in (obj["metadata"].get("labels") or {}):
        name = obj["metadata"]["name"]
        return (
            f"if its owners agree, set `namespaces: [{{name: {name}, existing: true}}]` at the "
            "team: gpuyard uses it unchanged and never deletes it; or rename the team"
        )
    if (obj["kind"], obj["metadata"]["name"]) == ("Namespace", GPU_OPERATOR_NAMESPACE):
        return (
            "if a GPU Operator runs already, set `gpu_operator: {install: false}`: gpuyard uses "
            "it and never changes or deletes it"
        )
    named_for = _NAMED_FOR.get(obj["kind"], "the platform or the team")
    return (
        f"rename {named_for}; or, if its owner agrees, adopt it: {command} prints the `pulumi "
        "import` command"
    )


async def _met_by_helm(kubectl: Kubectl, kind: str, name: str, namespace: str) -> str:
    """Helm does not overwrite an object that it did not create."""
    where = _named(kind.lower(), name, namespace)
    live = await kubectl.get(*where)
    if live is not None and kind == "ClusterRole" and field_managers(live) == {_AGGREGATION}:
        return (
            f"ClusterRole {name} is left over from a removed chart: Kubernetes wrote it again "
            "while Helm deleted it, and no other manager has written it (managedFields lists only "
            f"{_AGGREGATION}).\n  fix: {kubectl.command('delete', *where)}"
        )
    owner = f"{owner_of(live)} " if live is not None else ""
    return (
        f"{kind} {name} exists already, and Helm does not overwrite objects of another manager.\n "
        f" {owner}See {_to_look(kubectl, where)}\n  fix: if another Kueue runs, set `queueing: "
        "{install: false}`; delete the object only if it is unused"
    )


async def _unserved(
    kubectl: Kubectl, kind: MissingKind, obj: Mapping[str, Any], brought: Collection[str]
) -> str:
    result = await kubectl.get("customresourcedefinitions")
    definitions = result.get("items") if result is not None else None
    look = kubectl.command("get", "--raw", f"/apis/{kind.api_version}")
    return missing_kind_message(
        kind, obj["metadata"]["name"], definitions, look, ours=kind.group in brought
    )


async def _queue_in_use(kubectl: Kubectl, queue: str) -> str | None:
    result = await kubectl.get("workloads.kueue.x-k8s.io", "-A")
    using = admitted_workloads(result["items"] if result is not None else (), queue)
    if result is not None and not using:
        return None
    look = kubectl.command("get", "workloads", "-A")
    return (
        f"ClusterQueue {queue} stays while admitted workloads use it: "
        f"{', '.join(using) or look}.\n  fix: wait until they finish and deploy again; or add the "
        "team again with `stop_policy: drain`, run `pulumi up`, which evicts them, then remove "
        "the team"
    )


async def _stuck(kubectl: Kubectl, name: str) -> str:
    namespace = await kubectl.get("namespace", name)
    if namespace is None:
        command = kubectl.command("get", "namespace", name, "-o", "jsonpath={.status.conditions}")
        return f"The conditions of namespace {name} show what blocks its deletion: {command}"
    items = None
    if kinds := remaining_kinds(namespace):
        result = await kubectl.get(",".join(kinds), "-n", name)
        items = result.get("items") if result is not None else None
    return stuck_namespace_message(namespace, items)


def conditions(namespace: Mapping[str, Any]) -> list[str]:
    """What the namespace's conditions report: remaining objects, finalizers, an unavailable API.

    The namespace controller writes kinds, counts and finalizers, but no names of objects
    (kubernetes/pkg/controller/namespace/deletion/status_condition_utils.go, 1.36).
    """
    return [
        str(one.get("message"))
        for one in namespace.get("status", {}).get("conditions") or []
        if one.get("status") == "True" and str(one.get("type", "")).startswith("Namespace")
    ]


def remaining_kinds(namespace: Mapping[str, Any]) -> list[str]:
    """The kinds of the remaining objects in kubectl's notation: `pods`, `widgets.example.com`."""
    results = (_RESOURCES.findall(message) for message in conditions(namespace))
    return sorted({kind for kinds in results for kind in kinds})


def remaining_objects(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """The remaining objects, those with finalizers first, up to a limit."""
    lines = [text for _, text in sorted(map(_remaining_object, items))]
    more = len(lines) - _ALL_SHOWN
    return lines if more <= 0 else [*lines[:_ALL_SHOWN], f"and {more} more"]


def _remaining_object(obj: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether it has no finalizer, and its description."""
    meta = obj.get("metadata", {})
    place = f"{obj.get('kind')} {meta.get('namespace')}/{meta.get('name')}"
    if finalizers := meta.get("finalizers"):
        return False, f"{place} has finalizers {', '.join(finalizers)}"
    since = meta.get("deletionTimestamp")
    until = f"its deletion was requested at {since}" if since else "no deletion was requested"
    return True, f"{place} has no finalizer, and {until}"


def stuck_namespace_message(
    namespace: Mapping[str, Any], items: Sequence[Mapping[str, Any]] | None
) -> str:
    """Explain why a namespace is not deleted; `items` is None if the query failed."""
    name = namespace.get("metadata", {}).get("name")
    lines = conditions(namespace) or ["its status does not report the remaining objects"]
    if items is not None:
        lines += remaining_objects(items)
    elif kinds := remaining_kinds(namespace):
        columns = "KIND:.kind,NAME:.metadata.name,FINALIZERS:.metadata.finalizers"
        kind_list, form = ",".join(kinds), f"custom-columns={columns}"
        lines.append(f"list the objects: kubectl get {kind_list} -n {name} -o {form}")
    lines.append(
        "fix: restart the controller that owns the finalizer; it removes the finalizer after "
        "cleanup, and the namespace is deleted. Remove it manually only if that controller no "
        "longer exists."
    )
    return "\n  ".join((f"Namespace {name} is stuck in deletion:", *lines))
