"""A wheel of the project, installed outside a checkout."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import sizes

RUN = "import sys; from gpuyard.cli import main; sys.exit(main(sys.argv[1:]))"
"""The console script of an installation, with the command's arguments."""
_BUILD = "from hatchling.build import build_wheel; print(build_wheel(OUT))"


def installed(folder: Path) -> Path:
    """Python with the wheel, next to it `gpuyard`; the wheel's dependencies come from the tests' environment."""
    build = _BUILD.replace("OUT", repr(str(folder)))
    subprocess.run([sys.executable, "-c", build], cwd=sizes.ROOT, check=True, capture_output=True)
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as built:
        built.extractall(site)
    # Only the folder: its .pth files, and with them the checkout, are not followed.
    (site / "needed.pth").write_text(sysconfig.get_paths()["purelib"], encoding="utf-8")
    python = venv / "bin" / "python"
    script = python.with_name("gpuyard")
    script.write_text(f"#!{python}\n{RUN}\n", encoding="utf-8")
    script.chmod(0o755)
    return python
