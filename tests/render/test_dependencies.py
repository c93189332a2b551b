"""What each kind of object needs before it: nothing is made before what it names."""

import pytest

from gpuyard.render.dependencies import dependencies_of, object_key
from gpuyard.render.platform import platform_objects
from gpuyard_core.names import PRIORITY_LABEL, QUEUE_LABEL, TOKEN_OF
from kit.stacks import cut_pool, plan_of, platform, pool, team


def obj(kind, spec=None, namespace=None, **body):
    metadata = {"name": "x"} | ({"namespace": namespace} if namespace else {})
    return {"kind": kind, "metadata": metadata, **({"spec": spec} if spec else {}), **body}


def labelled(made, labels=None, annotations=None):
    """The same object with labels or annotations."""
    made["metadata"] |= {"labels": labels, "annotations": annotations}
    return made


FENCES = [
    ("ResourceQuota", "vision", "gpuyard"),
    ("LimitRange", "vision", "gpuyard"),
    ("NetworkPolicy", "vision", "gpuyard"),
]
GROUPS = [{"flavors": [{"name": "h100"}, {"name": "l4"}]}, {"flavors": [{"name": "t4"}]}]
FLAVORS = [
    ("ResourceFlavor", "", "h100"),
    ("ResourceFlavor", "", "l4"),
    ("ResourceFlavor", "", "t4"),
]


@pytest.mark.parametrize(
    ("given", "needs"),
    [
        (obj("Namespace"), []),
        (obj("ConfigMap", namespace="gpu"), [("Namespace", "", "gpu")]),
        (obj("LocalQueue", namespace="vision"), [("Namespace", "", "vision"), *FENCES]),
        (
            obj("LocalQueue", {"clusterQueue": "all"}, namespace="vision"),
            [("Namespace", "", "vision"), *FENCES, ("ClusterQueue", "", "all")],
        ),
        (
            labelled(
                obj(
                    "Job",
                    {
                        "template": {
                            "spec": {
                                "serviceAccountName": "worker",
                                "subdomain": "ranks",
                                "volumes": [
                                    {"name": "t", "secret": {"secretName": "token"}},
                                    {"name": "c", "configMap": {"name": "program"}},
                                    {"name": "e", "emptyDir": {}},
                                ],
                            }
                        }
                    },
                    namespace="lab",
                ),
                {QUEUE_LABEL: "work", PRIORITY_LABEL: "least"},
            ),
            [
                ("Namespace", "", "lab"),
                ("LocalQueue", "lab", "work"),
                ("NetworkPolicy", "lab", "work"),
                ("WorkloadPriorityClass", "", "least"),
                ("ServiceAccount", "lab", "worker"),
                ("RoleBinding", "lab", "worker"),
                ("ClusterRoleBinding", "", "worker"),
                ("ValidatingAdmissionPolicyBinding", "", "worker"),
                ("Secret", "lab", "token"),
                ("ConfigMap", "lab", "program"),
                ("Service", "lab", "ranks"),
            ],
        ),
        (
            labelled(obj("Secret", namespace="lab"), annotations={TOKEN_OF: "worker"}),
            [("Namespace", "", "lab"), ("ServiceAccount", "lab", "worker")],
        ),
        (
            obj("RoleBinding", namespace="vision", roleRef={"name": "member"}),
            [("Namespace", "", "vision"), *FENCES, ("Role", "vision", "member")],
        ),
        (obj("Cohort"), []),
        (
            obj("Cohort", {"parentName": "top", "resourceGroups": GROUPS}),
            [("Cohort", "", "top"), *FLAVORS],
        ),
        (
            obj(
                "ClusterQueue",
                {
                    "cohortName": "all",
                    "resourceGroups": GROUPS,
                    "admissionChecksStrategy": {"admissionChecks": [{"name": "room"}]},
                },
            ),
            [("Cohort", "", "all"), *FLAVORS, ("AdmissionCheck", "", "room")],
        ),
        (obj("ResourceFlavor", {"nodeLabels": {}}), []),
        (obj("ResourceFlavor", {"topologyName": "racks"}), [("Topology", "", "racks")]),
        (
            obj("AdmissionCheck", {"parameters": {"kind": "MultiKueueConfig", "name": "lab"}}),
            [("MultiKueueConfig", "", "lab")],
        ),
        (
            obj("MultiKueueConfig", {"clusters": ["west", "east"]}),
            [("MultiKueueCluster", "", "west"), ("MultiKueueCluster", "", "east")],
        ),
        (
            obj("MutatingAdmissionPolicyBinding", {"policyName": "first"}),
            [("MutatingAdmissionPolicy", "", "first")],
        ),
        (
            obj("ValidatingAdmissionPolicyBinding", {"policyName": "held"}),
            [("ValidatingAdmissionPolicy", "", "held")],
        ),
        (
            obj(
                "ClusterPolicy",
                {
                    "devicePlugin": {"config": {"name": "plugin"}},
                    "migManager": {"config": {"name": "mig"}},
                },
            ),
            [("ConfigMap", "gpu-operator", "plugin"), ("ConfigMap", "gpu-operator", "mig")],
        ),
    ],
)
def test_an_object_needs_what_it_names(given, needs):
    assert list(dependencies_of(given)) == needs


def test_objects_are_rendered_after_what_they_need():
    raw = platform(
        [pool(), cut_pool()],
        [team(), team("speech")],
        cloud="simulated",
        priorities={"production": 100},
    )
    objects = platform_objects(plan_of(raw))
    order = [object_key(one) for one in objects]
    needs = [
        (order.index(need), at)
        for at, one in enumerate(objects)
        for need in dependencies_of(one)
        if need in order
    ]
    assert needs
    assert [pair for pair in needs if pair[0] >= pair[1]] == []
