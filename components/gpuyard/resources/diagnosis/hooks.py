"""Error hooks: what there is to say beyond the provider's error when an object can't be made, or will not go.

And three things to do: an object whose kind comes with a chart of the same program waits for its kind, one
whose webhook does not answer waits for that, and one whose quota two wrote at once comes again.

The provider names the object. Whose it is, or what inside a namespace holds it, only a second look at the
cluster tells. Pulumi calls an error hook when an operation has failed, so a deployment that succeeds pays for
no look. Hooks are the program's: a `destroy` has them with `--run-program`; without it the engine shows the
provider's error alone, and docs/guides/existing-kueue.md has the commands to ask oneself.
https://www.pulumi.com/docs/iac/concepts/resources/options/hooks
"""

import asyncio
import itertools
import re
from collections.abc import Collection, Mapping
from typing import Any

import pulumi
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import monitor_supports_feature

from gpuyard.names import GPU_OPERATOR_NAMESPACE, PLATFORM_LABEL, TEAM_LABEL
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.diagnosis.missing_crds import (
    MissingKind,
    missing_kind_message,
    missing_kind_retry,
    parse_missing_kind,
)
from gpuyard.resources.diagnosis.ownership import owner_of, writers
from gpuyard.resources.diagnosis.quota_conflicts import PAUSE_SECONDS as RACED_SECONDS
from gpuyard.resources.diagnosis.quota_conflicts import quota_conflict_retry
from gpuyard.resources.diagnosis.removed_teams import admitted_workloads
from gpuyard.resources.diagnosis.stuck_namespaces import remaining_kinds, stuck_namespace_message
from gpuyard.resources.diagnosis.webhook_errors import PAUSE_SECONDS, webhook_retry
from gpuyard.resources.validation.job_results import checks_nodes, failed_check

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
"""Objects that are not named for the platform: what of the stack file gives each its name."""
_PAUSES = {webhook_retry: PAUSE_SECONDS, quota_conflict_retry: RACED_SECONDS}
"""What passes by itself: what there is to say of it, and the seconds until the next try."""
_AGGREGATION = "clusterrole-aggregation-controller"


def hooks_of(
    name: str, kubectl: Kubectl, brought: Collection[str]
) -> pulumi.ResourceHookBinding | None:
    """The hooks for objects of the provider `name`; None where the engine, or a mock of it, knows none.

    `brought` are the API groups whose kinds the program's own charts bring, as far as it has come.
    """
    if not monitor_supports_feature(resource_pb2.RESOURCE_MONITOR_FEATURE_ERROR_HOOKS):
        return None

    async def tell(args: pulumi.ErrorHookArgs) -> bool:
        if again := missing_kind_retry(args, brought):
            pulumi.log.info(again)
            return True
        for waits, seconds in _PAUSES.items():
            if again := waits(args):
                pulumi.log.info(again)
                await asyncio.sleep(seconds)
                return True
        try:
            message = await explain_error(kubectl, args, brought)
        except Exception as problem:  # noqa: BLE001  an explanation that fails must not hide the failure
            pulumi.log.debug(f"no explanation of the failure of {args.urn}: {problem}")
            message = None
        if message:
            # A warning: the error is the provider's, and a hook of the user's may still have it retried.
            pulumi.log.warn(message)
        return False

    # The state keeps a hook's name: the same program must give the same one, and no two hooks share one.
    return pulumi.ResourceHookBinding(
        on_error=[pulumi.ErrorHook(f"gpuyard:{name}:{next(_NUMBERS)}", tell)]
    )


async def explain_error(
    kubectl: Kubectl, args: pulumi.ErrorHookArgs, brought: Collection[str] = ()
) -> str | None:
    """What a look at the cluster adds to the error; None when there is nothing to add."""
    error = args.errors[0] if args.errors else ""
    obj = args.new_inputs or args.old_inputs or {}
    if kind := parse_missing_kind(args):
        return await _unserved(kubectl, kind, obj, brought)
    if args.failed_operation == "create" and (match := _HELM_MET.search(error)):
        return await _met_by_helm(kubectl, *match.groups())
    if args.failed_operation == "create" and _EXISTS in error:
        return await _name_conflict_message(kubectl, obj)
    if args.failed_operation in {"create", "update"} and checks_nodes(obj):
        return await failed_check(kubectl, obj)
    if args.failed_operation == "delete":
        return await _undeleted(kubectl, obj, "\n".join(args.errors))
    return None


async def _undeleted(kubectl: Kubectl, obj: Mapping[str, Any], error: str) -> str | None:
    if obj.get("kind") == "Namespace" and _TIMED_OUT in error:
        return await _stuck(kubectl, obj["metadata"]["name"])
    if obj.get("kind") == "ClusterQueue" and _IN_USE in error:
        return await _queue_in_use(kubectl, obj["metadata"]["name"])
    return None


def _named(kind: str, name: str, namespace: str | None) -> list[str]:
    """An object, as kubectl takes it."""
    return [kind, name, *(["-n", namespace] if namespace else [])]


def _to_look(kubectl: Kubectl, where: list[str]) -> str:
    """The command that shows an object with those who wrote it."""
    return kubectl.command("get", *where, "-o", "yaml", "--show-managed-fields")


async def _name_conflict_message(kubectl: Kubectl, obj: Mapping[str, Any]) -> str:
    meta = obj["metadata"]
    group = obj["apiVersion"].rpartition("/")[0]
    kind = f"{obj['kind'].lower()}{'.' if group else ''}{group}"
    where = _named(kind, meta["name"], meta.get("namespace"))
    live = await kubectl.get(*where)
    if live is None:
        owner = f"Whose it is, its labels and managedFields say: {_to_look(kubectl, where)}"
    else:
        owner = owner_of(live, (meta.get("labels") or {}).get(PLATFORM_LABEL))
    return (
        f"{obj['kind']} {meta['name']} is there already, and this stack did not make it.\n"
        f"  {owner}\n"
        f"  fix: {_name_conflict_fix(live, obj)}"
    )


def _name_conflict_fix(live: Mapping[str, Any] | None, obj: Mapping[str, Any]) -> str:
    labels = (live or {}).get("metadata", {}).get("labels") or {}
    platform = (obj["metadata"].get("labels") or {}).get(PLATFORM_LABEL)
    command = f"`gpuyard recover {pulumi.get_stack()}`"
    if platform is not None and labels.get(PLATFORM_LABEL) == platform:
        return f"{command} takes it over, when no other stack has it; then `pulumi up` again"
    if TEAM_LABEL in (obj["metadata"].get("labels") or {}):
        name = obj["metadata"]["name"]
        return (
            f"where its people agree, write `namespaces: [{{name: {name}, existing: true}}]` at the team: it"
            " is joined as it is, and never deleted; or give the team another name"
        )
    if (obj["kind"], obj["metadata"]["name"]) == ("Namespace", GPU_OPERATOR_NAMESPACE):
        return (
            "where a GPU Operator runs already, write `gpu_operator: {install: false}`: it is joined as it"
            " is, never changed and never deleted"
        )
    named_for = _NAMED_FOR.get(obj["kind"], "the platform or the team")
    return (
        f"give {named_for} another name; or, with its owner's consent, take it over: "
        f"{command} prints the `pulumi import` for it"
    )


async def _met_by_helm(kubectl: Kubectl, kind: str, name: str, namespace: str) -> str:
    """Helm installs over nothing that it did not make."""
    where = _named(kind.lower(), name, namespace)
    live = await kubectl.get(*where)
    if live is not None and kind == "ClusterRole" and writers(live) == {_AGGREGATION}:
        return (
            f"ClusterRole {name} is left over from a chart that was taken out: Kubernetes wrote it anew "
            f"while Helm deleted it, and nobody else has written it ({_AGGREGATION} is alone in its "
            "managedFields).\n"
            f"  fix: {kubectl.command('delete', *where)}"
        )
    owner = f"{owner_of(live)} " if live is not None else ""
    return (
        f"{kind} {name} is there already, and Helm installs over nothing that another made.\n"
        f"  {owner}See {_to_look(kubectl, where)}\n"
        "  fix: where another Kueue runs, write `queueing: {install: false}`; delete the object only when "
        "nobody uses it any more"
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
        f"ClusterQueue {queue} stays while admitted workloads use it: {', '.join(using) or look}.\n"
        "  fix: wait until they have ended and deploy again; or add the team again with `stop_policy: drain`, run"
        " `pulumi up`, which ends them, and remove the team then"
    )


async def _stuck(kubectl: Kubectl, name: str) -> str:
    namespace = await kubectl.get("namespace", name)
    if namespace is None:
        command = kubectl.command("get", "namespace", name, "-o", "jsonpath={.status.conditions}")
        return f"What holds namespace {name}, its conditions say: {command}"
    items = None
    if kinds := remaining_kinds(namespace):
        result = await kubectl.get(",".join(kinds), "-n", name)
        items = result.get("items") if result is not None else None
    return stuck_namespace_message(namespace, items)
