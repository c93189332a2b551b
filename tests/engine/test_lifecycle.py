"""What the engine and the provider do with objects that live, change, drift, move and go."""

import textwrap

import pytest


def test_up_preview_change_destroy(stack, api):
    """After up nothing is left to do; one change is one update; destroy leaves nothing."""
    program = """
        for index in range(4):
            config_map(f"part-{index}", metadata={"labels": {"size": str(SIZE if index == 2 else 0)}})
        k8s.core.v1.Secret("key", metadata={"name": "key", "namespace": NAMESPACE},
                           string_data={"a": "b"}, opts=opts())
        k8s.batch.v1.CronJob("auto", metadata={"namespace": NAMESPACE}, opts=opts(), spec={
            "schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "c", "image": "i",
                            "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}}}],
        }}}}})
        pulumi.export("name", "x")
    """
    stack.program("SIZE = 1\n" + textwrap.dedent(program))
    assert stack.up().counts == {"created": 8}
    assert api.names("ConfigMap") == {f"part-{index}" for index in range(4)}
    entry = stack.resource("auto")
    assert entry["id"].startswith(f"{api.namespace}/auto-")
    assert len(entry["id"]) == len(f"{api.namespace}/auto-") + 8
    assert entry["outputs"]["metadata"]["annotations"] == {"pulumi.com/autonamed": "true"}
    assert entry["outputs"]["__fieldManager"].startswith("pulumi-kubernetes-")
    stack.unchanged()

    stack.program("SIZE = 2\n" + textwrap.dedent(program))
    assert stack.up().counts == {"updated": 1, "unchanged": 7}
    changed = api.get("ConfigMap", "part-2")
    assert changed["metadata"]["labels"] == {"size": "2"}
    managers = {(m["manager"], m["operation"]) for m in changed["metadata"]["managedFields"]}
    assert managers == {(stack.resource("part-2")["outputs"]["__fieldManager"], "Apply")}
    stack.unchanged()

    assert stack.destroy().counts == {"deleted": 8}
    assert api.names("ConfigMap") == set()
    assert stack.state().get("resources", []) == []


@pytest.mark.always
def test_drift_is_shown_by_refresh_and_mended_by_up(stack, api):
    stack.program('config_map("quota", metadata={"labels": {"nominal": "8"}})')
    stack.up()
    api.merge("ConfigMap", "quota", {"metadata": {"labels": {"nominal": "80"}}})
    assert "1 to update" in stack.run("refresh", "--preview-only", "--color", "never").output
    stack.refresh()
    assert "1 to update" in stack.preview().output
    assert stack.up().counts["updated"] == 1
    assert api.get("ConfigMap", "quota")["metadata"]["labels"] == {"nominal": "8"}


def test_a_field_of_another_manager_conflicts_until_forced(stack, api):
    """As with the official provider: only kubectl's changes are taken over without asking."""
    stack.program('config_map("quota", metadata={"labels": {"nominal": "8"}})')
    stack.up()
    api.merge("ConfigMap", "quota", {"metadata": {"labels": {"nominal": "80"}}}, manager="somebody")
    stack.refresh()
    failed = stack.up(fails=True).output
    assert "server-side apply field conflict detected" in failed
    assert 'conflict with "somebody"' in failed
    assert ".metadata.labels.nominal" in failed
    stack.settings(enable_patch_force=True)
    stack.up()
    assert api.get("ConfigMap", "quota")["metadata"]["labels"] == {"nominal": "8"}


@pytest.mark.always
def test_a_rename_through_aliases_replaces_nothing(stack, api):
    stack.program(
        'k8s.core.v1.ConfigMap("old", metadata={"name": "c", "namespace": NAMESPACE}, opts=opts())'
    )
    stack.up()
    uid = api.get("ConfigMap", "c")["metadata"]["uid"]
    stack.program(
        'k8s.core.v1.ConfigMap("new", metadata={"name": "c", "namespace": NAMESPACE}, '
        'opts=opts(aliases=[pulumi.Alias(name="old")]))'
    )
    assert "unchanged" in stack.up().output
    assert api.get("ConfigMap", "c")["metadata"]["uid"] == uid
    assert stack.resource("new")["id"] == f"{api.namespace}/c"


@pytest.mark.always
def test_an_object_that_exists_is_refused_and_upsert_adopts_it(stack, api):
    api.create("ConfigMap", "taken", data={"who": "else"})
    stack.program('config_map("taken", {"who": "us"})')
    failed = stack.up(fails=True).output
    assert 'configmaps "taken" already exists' in failed
    assert "upsertExistingObjects" in failed
    stack.settings(upsert_existing_objects=True, enable_patch_force=True)
    stack.up()
    assert api.get("ConfigMap", "taken")["data"] == {"who": "us"}
    stack.unchanged()


def test_an_immutable_field_replaces(stack, api):
    """A fixed name makes the old object go first; a name of the provider's lets the new one come first."""
    program = """
        config_map("fixed", {"v": VERSION})
        k8s.core.v1.ConfigMap("auto", metadata={"namespace": NAMESPACE}, data={"v": VERSION}, opts=opts())
    """
    stack.program('VERSION = "1"\n' + textwrap.dedent(program))
    stack.up()
    before, name = api.get("ConfigMap", "fixed")["metadata"]["uid"], stack.resource("auto")["id"]
    stack.program('VERSION = "2"\n' + textwrap.dedent(program))
    assert "2 to replace" in stack.preview().output
    assert stack.up().counts["replaced"] == 2
    assert api.get("ConfigMap", "fixed")["metadata"]["uid"] != before
    assert stack.resource("auto")["id"] != name
    assert len(api.names("ConfigMap")) == 2


@pytest.mark.always
def test_import_takes_an_object_over(stack, api):
    api.create("ConfigMap", "found", data={"a": "b"})
    stack.program('config_map("found", {"a": "b"}, import_=f"{NAMESPACE}/found")')
    assert "1 imported" in stack.up().output
    stack.program('config_map("found", {"a": "b"})')
    stack.unchanged()


@pytest.mark.always
def test_a_kubeconfig_that_is_not_known_yet_defers(stack, api):
    """A cluster made by the same update: the preview plans its objects without asking it."""
    stack.program("""
        first = config_map("first")
        kubeconfig = first.metadata.apply(lambda m: settings["kubeconfig"] if m["uid"] else "")
        late = k8s.Provider("late", kubeconfig=kubeconfig, cluster_identifier="late")
        k8s.core.v1.ConfigMap("second", metadata={"name": "second", "namespace": NAMESPACE},
                              data={"uid": first.metadata["uid"]}, opts=pulumi.ResourceOptions(provider=late))
    """)
    assert "5 to create" in stack.preview().output
    assert stack.up().counts == {"created": 5}
    assert (
        api.get("ConfigMap", "second")["data"]["uid"]
        == api.get("ConfigMap", "first")["metadata"]["uid"]
    )
    stack.unchanged()


@pytest.mark.always
def test_an_object_gone_from_the_cluster_is_made_again(stack, api):
    stack.program('config_map("gone")')
    stack.up()
    api.cluster.delete(api.get("ConfigMap", "gone"), "gone", "Background")
    assert "1 deleted" in stack.refresh().output
    assert stack.up().counts["created"] == 1
    assert api.get("ConfigMap", "gone")
