"""Commands in scripts, Makefiles, justfiles, Taskfiles and Markdown: what each installs, and with what."""

import shlex
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_lint.languages.commands import (
    MOST_BYTES,
    MOST_COMMANDS,
    AppliedRelease,
    HelmCommand,
    helm_commands,
    is_script,
)
from gpuyard_lint.languages.hcl_values import UNKNOWN_PART
from gpuyard_lint.languages.helm_sets import parse_set_option, steps_of
from gpuyard_lint.languages.script_text import split_words
from gpuyard_lint.rules.rule import UNKNOWN
from kit.every import every
from kit.searches import examples

OPERATOR = "nvidia/gpu-operator"
INSTALL = f"helm install gpu {OPERATOR}"
KUEUE = "https://github.com/kubernetes-sigs/kueue/releases/download"
SIGN = UNKNOWN_PART


def helm(chart=OPERATOR, version=None, values=(), sets=(), folder=""):
    return HelmCommand(chart, version, values, sets, folder)


def found(text, file="install.sh"):
    return helm_commands(text.encode(), file)


@every(
    ("text", "expected"),
    [
        ("INSTALL", helm()),
        ("helm upgrade --install gpu nvidia/gpu-operator --version v24.9.0", helm(version="v24.9.0")),
        ("helm upgrade -i --version=25.3.0 gpu nvidia/gpu-operator", helm(version="25.3.0")),
        ("helm template nvidia/gpu-operator -n gpus", helm()),
        ("helm template gpu nvidia/gpu-operator > out.yaml 2>&1", helm()),
        ("helm -n gpus --kube-context=a install gpu nvidia/gpu-operator", helm()),
        ("helm install --wait --generate-name -n gpus --create-namespace nvidia/gpu-operator", helm()),
        ("helm install -g nvidia/gpu-operator", helm()),
        ("helm install --name gpu nvidia/gpu-operator", helm()),
        ("helm install nvidia/gpu-operator", helm()),
        ("helm install gpu", helm("")),
        ("INSTALL \\", helm()),
        ("INSTALL --set a=1,", helm(sets=({"a": 1},))),
        ("sudo /usr/local/bin/INSTALL", helm()),
        ("run_cmd helm3 install gpu nvidia/gpu-operator; echo done", helm()),
        ("if ! INSTALL; then exit 1; fi", helm()),
        ("(cd charts/gpu && helm install gpu .)", helm(".", folder="charts/gpu")),
        ("cd charts\ncd gpu/\nhelm install gpu ./chart", helm("./chart", folder="charts/gpu")),
        ("cd\nhelm install gpu ./chart", helm("./chart")),
        ('cd "$(dirname "$0")"\nhelm install gpu ./chart', helm("./chart", folder=SIGN)),
        ("INSTALL -f a.yaml --values b.yaml,c.yaml", helm(values=("a.yaml", "b.yaml", "c.yaml"))),
        ("INSTALL -fa.yaml --values=b.yaml", helm(values=("a.yaml", "b.yaml"))),
        ("INSTALL \\\n  --version v25.3.0 \\\n  -f a.yaml  # ours", helm(version="v25.3.0", values=("a.yaml",))),
        ("INSTALL --set driver.enabled=false,mig.strategy=single", helm(sets=({"driver": {"enabled": False}}, {"mig": {"strategy": "single"}}))),  # noqa: E501
        ("INSTALL --set-string driver.enabled=false", helm(sets=({"driver": {"enabled": "false"}},))),
        ("INSTALL --set 'a\\.b/c=1' --set x='{1,y}'", helm(sets=({"a.b/c": 1}, {"x": [1, "y"]}))),
        ("INSTALL --set-file a.b=f.txt --set-json '{\"a\": 1}'", helm(sets=({"a": {"b": UNKNOWN}}, UNKNOWN))),
        ("helm install gpu oci://ghcr.io/nvidia/gpu-operator:v25", helm("oci://ghcr.io/nvidia/gpu-operator:v25")),
        ("helm install gpu --repo https://helm.ngc.nvidia.com/nvidia gpu-operator", helm("gpu-operator")),
        ("helm install <release> nvidia/gpu-operator --version <version>", helm(version=UNKNOWN)),
        ("helm install [NAME] nvidia/gpu-operator", helm()),
        ('V=v24.9.0\nINSTALL --version "$V"', helm(version="v24.9.0")),
        ("export V='v24.9.0' # then\nINSTALL --version ${V}", helm(version="v24.9.0")),
        ("V=${V:-v24.9.0}\nINSTALL --version $V", helm(version="v24.9.0")),
        ("INSTALL --version ${V:-v24.9.0}", helm(version="v24.9.0")),
        ("V=$V\nINSTALL --version $V", helm(version=UNKNOWN)),
        ("V=1.2.3\nV=1.2.4\nINSTALL --version $V", helm(version=UNKNOWN)),
        ("V=1.2\nV+=.3\nINSTALL --version $V", helm(version=UNKNOWN)),
        ("V=(1.2 1.3)\nINSTALL --version $V", helm(version=UNKNOWN)),
        ("V=1.2.3\nV=${W:-$X}\nINSTALL --version ${V:-1}", helm(version=UNKNOWN)),
        ("for V in 1 2; do INSTALL --version $V; done", helm(version=UNKNOWN)),
        ("read -r V\nINSTALL --version ${V}", helm(version=UNKNOWN)),
        ("INSTALL --version $(cat $(ls V))", helm(version=UNKNOWN)),
        ("INSTALL --version $(cat $(ls", helm(version=UNKNOWN)),
        ("A='1.2'\"\nINSTALL --version $A", helm(version=UNKNOWN)),
        ("INSTALL --version `cat V` --set a=$1", helm(version=UNKNOWN, sets=({"a": UNKNOWN},))),
        ("D=charts\nC=\"$D\"/'gpu'\nhelm install gpu $C", helm("charts/gpu")),
        ("helm install $FLAGS gpu nvidia/gpu-operator", helm()),
        ("helm install $A $B $C", helm(SIGN)),
        ("f() {\n  local V=1.0.0\n}\ng() {\n  local V=2.0.0\n  INSTALL --version $V\n}\n", helm(version="2.0.0")),
        ("V=1.0.0\nf() {\n  V=2.0.0\n}\nINSTALL --version $V", helm(version=UNKNOWN)),
        ("V=1.0.0\nf() {\n  local V=2.0.0\n}\nINSTALL --version $V", helm(version="1.0.0")),
        ("V=1.0.0\nfunction f {\n  INSTALL --version $V\n}", helm(version="1.0.0")),
        ("cat <<EOF\nhelm install other a/b\nEOF\nINSTALL", helm()),
        ("cat <<-'EOF'\nINSTALL", helm()),
    ],
)  # fmt: skip
def test_a_command_of_helm_is_read(text, expected):
    assert found(text.replace("INSTALL", INSTALL)) == [expected]


@every(
    "text",
    [
        "",
        "echo helm install gpu nvidia/gpu-operator",
        "# helm install gpu nvidia/gpu-operator",
        "#helm install gpu nvidia/gpu-operator",
        "helm repo add nvidia https://helm.ngc.nvidia.com/nvidia",
        "helm uninstall gpu",
        "helm",
        "brew install helm",
        "echo 'helm install gpu nvidia/gpu-operator'",
        "helm install gpu nvidia/gpu-operator --set 'a",
        'helm install "gpu nvidia/gpu-operator',
        "helm install gpu nvidia/gpu-operator " + "x" * 20_000,
        f"kubectl delete -f {KUEUE}/v0.13.1/manifests.yaml",
        f"kubectl get pods; wget {KUEUE}/v0.13.1/manifests.yaml",
        "kubectl apply -f https://github.com/" + "a/" * 2000 + "releases/download/v1/x",
        f"kubectl apply -f {KUEUE}",
        "cat <<EOF\nhelm install gpu nvidia/gpu-operator\nEOF",
    ],
)
def test_what_installs_nothing_or_never_ends_is_nobodys(text):
    assert found(text) == []


@every(
    ("text", "expected"),
    [
        (f"kubectl apply --server-side -f {KUEUE}/v0.13.1/manifests.yaml", "v0.13.1"),
        (f"V=v0.13.1\nrun kubectl apply -f {KUEUE}/$V/manifests.yaml", "v0.13.1"),
        (f"kubectl apply -f {KUEUE}/$1/manifests.yaml", UNKNOWN),
        ("kubectl apply -k 'github.com/kubernetes-sigs/kueue/config/default?ref=v0.9.1'", "v0.9.1"),
        ("kustomize build github.com/kubernetes-sigs/kueue/config?ref=v0.9.1 | oc apply -f -", "v0.9.1"),
    ],
)  # fmt: skip
def test_a_release_that_is_applied_is_read(text, expected):
    assert found(text) == [AppliedRelease("kueue", expected)]


@every(
    ("file", "text", "expected"),
    [
        ("README.md", "helm install a b/c\n```bash\n$ INSTALL\n```\n", [helm()]),
        ("README.md", "~~~\nhelm install gpu \\\n~~~\nnvidia/gpu-operator\n", []),
        ("README.md", "````sh\n```\nINSTALL\n````\nhelm install a b/c\n", [helm()]),
        ("README.md", "```yaml\nrun: INSTALL\n```\n", []),
        ("README.md", "```sh\nexport V=1.0.0\n```\nthen\n```\nINSTALL --version ${V}\n```", [helm(version="1.0.0")]),
        ("Makefile", "V ?= 1.0.0 # ours\nx:\n\t@INSTALL --version $(V)\n", [helm(version="1.0.0")]),
        ("a.mk", "export V := 1.0.0\nx:\n\t-INSTALL --version ${V} -n $$N\n", [helm(version="1.0.0")]),
        ("GNUmakefile", "V = 1.0\nV += .1\nx:\n\tINSTALL --version $(V)\n", [helm(version=UNKNOWN)]),
        ("Makefile", "x:\n\tcd a && \\\n\thelm install gpu ./b --version $$(cat V)\n", [helm("./b", UNKNOWN, folder="a")]),
        ("justfile", 'kueue-v := "1.0.0"\nx:\n  @INSTALL --version {{kueue-v}}\n', [helm(version="1.0.0")]),
        ("justfile", "x:\n  INSTALL --version {{ env('V') }}\n", [helm(version=UNKNOWN)]),
        ("Taskfile.yml", "vars:\n  V: 1.0.0\ntasks:\n  x:\n    cmds:\n      - INSTALL --version {{.V}}\n", [helm(version="1.0.0")]),  # noqa: E501  # noqa: E501
        ("Taskfile.dist.yaml", "      - cmd: |\n          helm install gpu \\\n            nvidia/gpu-operator\n", [helm()]),
        ("taskfile.yaml", "      - 'INSTALL'\n", [helm()]),
        (".github/workflows/cd.yml", "    - run: INSTALL --version ${{ a.v }}\n", [helm(version=UNKNOWN)]),
        ("a/.github/workflows/cd.yml", "    run: |\n      INSTALL \\\n        --version 1.0.0\n", [helm(version="1.0.0")]),
        (".gitlab-ci.yml", "  script:\n    - INSTALL\n    - 'INSTALL'\n", [helm(), helm()]),
        ("Jenkinsfile", "  sh 'INSTALL'\n", [helm()]),
    ],
)  # fmt: skip
def test_each_language_has_its_own_variables_and_beginnings(file, text, expected):
    assert found(text.replace("INSTALL", INSTALL), file) == expected


@every(
    ("name", "expected"),
    [
        *((name, True) for name in ("a/x.sh", "b.bash", "README.md", "Makefile", "x.mk", "justfile")),
        *((name, True) for name in ("Justfile", ".justfile", "Taskfile.yml", "makefile")),
        *((name, True) for name in (".github/workflows/a.yml", "x/.gitlab-ci.yml", "Jenkinsfile")),
        *((name, False) for name in ("x.yaml", "x.ps1", "Makefile.txt", "task.yml", "x.py")),
    ],
)  # fmt: skip
def test_scripts_are_known_by_their_names(name, expected):
    assert is_script(name) is expected


def test_of_a_file_that_no_hand_wrote_nothing_is_read():
    line = b"helm install gpu nvidia/gpu-operator\n"
    assert helm_commands(line * (MOST_BYTES // len(line) + 1), "x.sh") == []
    assert len(helm_commands(line * 1000, "x.sh")) == MOST_COMMANDS


def test_variables_of_variables_end_somewhere():
    chain = "".join(f"V{n}=$V{n + 1}$V{n + 1}$V{n + 1}\n" for n in range(60))
    (one,) = found(f"{chain}V60=abc\nhelm install gpu nvidia/gpu-operator --version $V0")
    assert one == helm(version=UNKNOWN)
    (one,) = found("A=$B\nB=$A\nhelm install gpu nvidia/gpu-operator --version $A")
    assert one == helm(version=UNKNOWN)
    long = "V=" + "a" * 9000 + "\nhelm install gpu nvidia/gpu-operator --version $V$V"
    assert found(long) == [helm(version=UNKNOWN)]


def test_names_with_more_steps_than_any_chart_has_are_not_followed():
    steps, value = steps_of("a" + ".b" * 5000, 1)
    assert (steps, value) == (("a",), UNKNOWN)
    assert list(parse_set_option(f"{SIGN}=1,a,b={SIGN}")) == [UNKNOWN, UNKNOWN, {"b": UNKNOWN}]
    assert list(parse_set_option("a[0].b=1")) == [{"a": UNKNOWN}]


PIECES = st.lists(
    st.sampled_from(
        [
            *("helm install ", "kubectl apply -f ", "https://github.com/a/b/releases/download/v1/"),
            *(
                "V=",
                "$V",
                "${V:-",
                "$(",
                "&&",
                "<<EOF",
                "EOF",
                "```",
                "f() {",
                "--set ",
                "a.b[0]=",
                "{{",
            ),
            *"`'\"\\\n\t ;|{},<#\x00é",
        ]
    ),
    max_size=60,
)


@settings(max_examples=examples(150), deadline=None)
@given(PIECES, st.sampled_from(["x.sh", "README.md", "Makefile", "justfile", "Taskfile.yml"]))
def test_no_text_is_too_strange(pieces, file):
    for each in helm_commands("".join(pieces).encode(), file):
        assert isinstance(each, HelmCommand | AppliedRelease)


@every(
    "unit",
    [
        "helm install gpu nvidia/gpu-operator --set a.b=c\n",
        'helm install ";a=\\"',
        "helm install '\n",
        "helm <<A\n",
        "helm $($(",
        "helm <a {{",
        "kubectl apply https://github.com/a/b/ ",
        "V=$V;helm ${V}\n",
        "```\nhelm '\n",
        "helm f() {\n",
    ],
)
def test_what_is_twice_as_long_takes_about_twice_as_long(unit):
    def seconds(size):
        data = (unit * (size // len(unit))).encode()
        begun = time.process_time()
        for file in ("x.sh", "README.md", "Makefile"):
            helm_commands(data, file)
        return time.process_time() - begun

    assert seconds(MOST_BYTES // 2) < 8 * seconds(MOST_BYTES // 8) + 0.5


@settings(max_examples=examples(500))
@given(st.text(st.sampled_from(" \t\n\r;&|()<>\"'ab=$-{}#é~\x0b\u3000\\\0"), max_size=20))
def test_words_are_split_as_shlex_does(line):
    reader = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>")
    reader.whitespace_split = True
    reader.commenters = ""
    assert _or_error(lambda: split_words(line)) == _or_error(lambda: list(reader))


def _or_error(split):
    try:
        return split()
    except ValueError:
        return "a quote does not end"
