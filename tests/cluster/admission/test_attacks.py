"""What members of a team must not get, and what they need every day, sent to a real API server one by one.

The cases are data, in the folder `attacks`: who does what, with which answer, and why. Nothing that is tried
is kept: only what has to be there first is made, and goes again. Where the policy decides, the Python twin is
asked as well and has to say the same.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard.render.admission.team_parameters import parameters_of
from gpuyard_core.admission.requirements import BELONGINGS, denials
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import ADMISSION_KINDS, workload
from gpuyard_lint.rules.adm import BELONGINGS as KINDS
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError
from kit.cluster import lab as reality
from kit.cluster.attacks import CASES, namespace_of, object_of, path_of, three_teams
from kit.cluster.tenants import acting, tenants
from kit.generated.hostile import MERGE
from kit.generated.pods import Maker

pytestmark = [pytest.mark.cluster, pytest.mark.always]

Value = dict[str, Any]
OUTSIDE = "atk-outside"
FULL = next(case for case in CASES if case["who"] == "few" and case.get("refused") == "quota")
"""What is refused only where something is counted already."""
BY = {
    "policy": r"ValidatingAdmissionPolicy 'gpuyard-atk(-\w+)?' with binding '\S+' denied request: ",
    "quota": r"exceeded quota: gpuyard, ",
    "range": r"usage per (Pod|Container) is",
    "access": r"User \"\S+\" cannot",
    "level": r"violates PodSecurity",
    "form": r"^422: .* is invalid: ",
}


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome) -> Iterator[reality.Lab]:
    """The platform, its policies in force, and a namespace of nobody's."""
    outside = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OUTSIDE}}
    with tenants(started.status.name, three_teams()) as found:
        try:
            reality.apply(found.api, outside)
            account = f"/api/v1/namespaces/{OUTSIDE}/serviceaccounts/default"
            reality.wait(lambda: found.api.get(account), "the account that pods need")
            reality.wait(lambda: counted(found), "quotas that are counted")
            # the server reads a quota a moment after it is written
            reality.wait(lambda: answer(found, FULL)[0] == "quota", "a quota that is used up")
            yield found
        finally:
            reality.delete(found.api, f"/api/v1/namespaces/{OUTSIDE}")


def counted(lab: reality.Lab) -> bool:
    """Whether every quota knows what is there: one config map at least, that the cluster makes itself."""
    quotas = (
        lab.api.call("GET", f"/api/v1/namespaces/{name}/resourcequotas/gpuyard")
        for name in sorted(reality.namespaces_of(lab.plan))
    )
    used = [quota.get("status", {}).get("used", {}) for quota in quotas]
    return all(found.get("count/configmaps", "0") != "0" for found in used)


def asking(lab: reality.Lab, group: str) -> Api:
    """The API as somebody of that group; as an admin of the cluster, itself."""
    return lab.api if group == "admins" else acting(lab.api, group)


def answer(lab: reality.Lab, case: Value, namespace: str = "") -> tuple[str, str]:
    """Who refused it, and what was said; `taken` when nobody did."""
    namespace = namespace or namespace_of(case)
    api = asking(lab, case["who"])
    try:
        if "list" in case:
            listed = case["list"].format(namespace=namespace)
            reality.patiently(lambda: api.call("GET", listed))
        elif "first" in case:
            _done_to_the_first(lab, api, case, namespace)
        elif "ask" in case:
            reality.patiently(lambda: asked(api, case["ask"], namespace))
        else:
            value = object_of(case)
            tried = f"{path_of(value, namespace)}?dryRun=All"
            reality.patiently(lambda: api.call("POST", tried, value))
    except ApiError as problem:
        said = str(problem)
        found = next((by for by, words in BY.items() if re.search(words, said)), "somebody")
        return found, said
    return "taken", ""


def asked(api: Api, request: Value, namespace: str) -> None:
    """A request that is written out, as a trial."""
    path = request["path"].format(namespace=namespace)
    path += f"{'&' if '?' in path else '?'}dryRun=All"
    api.call(request["verb"], path, request.get("body"), request.get("kind", MERGE))


def _done_to_the_first(lab: reality.Lab, api: Api, case: Value, namespace: str) -> None:
    """What is there already is made for the time of the question."""
    first = case["first"]
    path = path_of(first, namespace)
    one = f"{path}/{first['metadata']['name']}"
    reality.create(api, path, first)
    try:
        if "placed" in case:
            reality.wait(lambda: has_node(lab, one), "a node for it")
        if "patch" in case:
            api.call("PATCH", f"{one}?dryRun=All", case["patch"], MERGE)
        elif "delete" in case:
            api.call("DELETE", f"{one}?dryRun=All", case["delete"])
        elif "counted" in case:
            _asked_when_counted(lab, api, case, namespace)
        else:
            asked(api, case["ask"], namespace)
    finally:
        reality.delete(lab.api, one)
        reality.wait(lambda: lab.api.get(one) is None, f"no {one}")


def has_node(lab: reality.Lab, one: str) -> bool:
    """Whether a pod runs somewhere: the API server lets others go at once, whatever is said."""
    return bool((lab.api.get(one) or {}).get("spec", {}).get("nodeName"))


def _asked_when_counted(lab: reality.Lab, api: Api, case: Value, namespace: str) -> None:
    """Once Kueue has counted the first; the API server reads that a moment later, and refuses then."""
    first = lab.api.get(f"{path_of(case['first'], namespace)}/{case['first']['metadata']['name']}")
    label = f"kueue.x-k8s.io/job-uid={(first or {})['metadata']['uid']}"
    counted = f"{reality.KUEUE}/namespaces/{namespace}/workloads?labelSelector={label}"
    reality.wait(lambda: api.call("GET", counted)["items"], "a workload")
    if "refused" in case:
        reality.wait(lambda: _is_refused(api, case["ask"], namespace), "a policy that has read it")
    asked(api, case["ask"], namespace)


def _is_refused(api: Api, request: Value, namespace: str) -> bool:
    try:
        asked(api, request, namespace)
    except ApiError as problem:
        return bool(re.search(BY["policy"], str(problem)))
    return False


def twin(lab: reality.Lab, case: Value) -> str:
    """What the Python twins say of it."""
    parameters = parameters_of(lab.plan, lab.plan.team(namespace_of(case)))
    read = resource(object_of(case))
    found: list[str] = []
    if read.group_kind in ADMISSION_KINDS:
        found += [refusal.summary for refusal in denials(workload(read), parameters)]
    if read.group_kind in KINDS:
        slips = BELONGINGS.check(workload(read), parameters)
        found += [f"{BELONGINGS.id}: {slip.problem}; {slip.fix}" for slip in slips]
    return ". ".join(found)


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_it_is_answered_as_it_has_to_be(lab: reality.Lab, case: Value):
    by, said = answer(lab, case)
    assert by == case.get("refused", "taken"), (case["why"], said)
    for words in case.get("says", ()):
        assert words in said
    if "object" in case and case["who"] != "admins":
        ours = twin(lab, case)
        if by == "policy":
            assert re.split(BY["policy"], said)[-1].strip() == ours
        else:
            assert ours == ""


REFUSED = [
    case for case in CASES if case.get("refused") in {"policy", "range"} and "object" in case
]


@pytest.mark.parametrize("case", REFUSED, ids=[case["what"] for case in REFUSED])
def test_what_belongs_to_nobody_here_is_held_to_nothing(lab: reality.Lab, case: Value):
    assert answer(lab, {**case, "who": "admins"}, OUTSIDE) == ("taken", "")


def test_every_attack_says_why_and_what_is_said():
    for case in CASES:
        assert case["why"], case
        assert bool(case.get("refused")) == bool(case.get("says")), case


def test_both_twins_say_the_same_of_made_up_belongings(lab: reality.Lab):
    seen: Counter[str] = Counter()
    for number in range(60):
        case = {"who": "makers", "object": Maker(number).belonging()}
        by, said = answer(lab, case)
        assert by in {"policy", "taken"}, (said, case)
        assert re.split(BY["policy"], said)[-1].strip() == twin(lab, case), case
        seen[f"{case['object']['kind']} {by}"] += 1
    assert len(seen) == 8, seen
