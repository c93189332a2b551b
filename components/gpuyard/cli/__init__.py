"""The command line: `gpuyard check | plan | cost | mig | render | schema | get | version`.

Results go to stdout, everything else to stderr. Every command takes `--format text|json`; a JSON
document is one object with

    version    1; raised when a key changes its meaning or goes away, not when keys are added
    command    the command that wrote it
    findings   a list, gravest first, empty when there is nothing to say; each has
               id, severity (error, warning, info), path (list), where (text), file, line (or null),
               problem, given, allowed, fix (null, or {says, at, value}; at null: no program can do it)

and the command's own keys beside them: `stack` and `counts` (check, plan, cost, get), `plan`, `cost`,
`value`, `gpu` with `profiles`, `layout` or the counts (mig), `files` and `removed` (render), `verdict` and
`checks` (validate). Money is in US dollars, unknown money is null. A run that ends with exit code 2 or 4
writes no document.

Exit codes: 0 fine, 1 a fault of ours, 2 wrong usage or a file that can't be read, 3 findings at or above
`--fail-on`, 4 the environment lacks something, 8 hardware that does not pass, 130 interrupted.
"""

from gpuyard.cli.guard import main

__all__ = ["main"]
