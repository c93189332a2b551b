"""Slips in users' programs: a strict type checker must name each in its line, and nothing else."""

import pulumi

from gpuyard.resources import Platform, Team
from gpuyard.typed import CapacityOption, Cloud, KeepWarmWindow, PlatformDict, Pool, Sharing
from gpuyard.typed import Team as TeamDict

cloud: Cloud = "azure"  # refused
misspelt: Pool = {"nam": "train", "machine": "p5.48xlarge", "nodes": 2}  # refused
unfinished: Pool = {"name": "train", "machine": "p5.48xlarge"}  # refused
built = Pool(name="train", machine="p5.48xlarge", nodes=2, zone="us-east-1a")  # refused
letters: Pool = {"name": "a", "machine": "g6.xlarge", "nodes": 2, "zones": "a"}  # refused
share: Sharing = {"time_slices": 4}  # refused
shared: Sharing = "mps"  # refused
late: Sharing = {"mig": pulumi.Output.from_input({"3g.20gb": 2})}  # refused
rung: CapacityOption = "ondemand"  # refused
unheld: CapacityOption = {"reserved": "cr-0123456789abcdef0"}  # refused
hours: KeepWarmWindow = {"cron": "0 7 * * 1-5", "hours": "two", "nodes": 1}  # refused
team: TeamDict = {"name": "vision", "isolation": "pod"}  # refused
amounts: TeamDict = {"name": "vision", "guarantee": {"train": "8"}}  # refused

lab: PlatformDict = {
    "name": "lab",
    "cloud": "none",
    "kubernetes": 1.36,  # refused
    "pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": 2}],
}
Platform("lab", {"platform": {"nam": "lab"}})  # refused
Platform("lab", {"platfrom": lab})  # refused
Platform("lab", {"platform": pulumi.Output.from_input(lab)})  # refused
Team("vision", {"platform": lab})  # refused
