#!/usr/bin/env python3
"""Apply docs/contributing/renames.tsv to a checkout. Both go when the renames are complete.

Run it inside the checkout, with the checkout's Python.

    apply.py apply TABLE [--kinds a,b]      apply the rows (git mv for modules); then run ruff format and ruff check --fix
    apply.py types FILE                     receiver types of attributes by mypy (1-2 min); give it with --types FILE

TABLE: kind, where, old, new, ... separated by tabs; the first line is a heading. Kinds:
  module              old and new are dotted; files move by git mv, the mirrored tests/.../test_X.py too
  class, function, constant
                      where `*`: one definition in the tree, every token of that name; else the file that defines it
                      (components/... .py): scope-aware, followed through imports, re-exports, __all__, setattr strings
  field, method       old is Class.name; attributes by --types where the name is not unique
  variable            where: FILE::FUNCTION, a file, or `*`: local names and parameters of functions (keywords at calls of that function)
"""
import ast, collections, io, json, re, subprocess, sys, tokenize
from pathlib import Path

TEXT = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ".cfg", ""}
FUN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMP = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
def tracked():
    return [Path(p) for p in subprocess.check_output(["git", "ls-files"], text=True).splitlines() if Path(p).is_file()]

class File:
    def __init__(self, path):
        self.path, self.text = path, path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.lines = self.text.encode().splitlines(keepends=True)
        self.edits = {}

    def edit(self, line, col, old, new):
        if self.lines[line - 1][col : col + len(old.encode())] != old.encode():
            return False
        self.edits[line, col] = (old.encode(), new.encode())
        return True

    def find(self, old, line, col, end):
        """Edit position of the first `old` as a word from (line, col) on."""
        for n in range(line, end + 1):
            m = re.compile(rb"(?<![\w.])" + old.encode() + rb"(?!\w)").search(self.lines[n - 1], col if n == line else 0)
            if m:
                return n, m.start()
        return None

    def save(self):
        for (line, col), (old, new) in sorted(self.edits.items(), reverse=True):
            row = self.lines[line - 1]
            self.lines[line - 1] = row[:col] + new + row[col + len(old) :]
        if self.edits:
            self.path.write_bytes(b"".join(self.lines))
        return len(self.edits)
def quoted(file, annotation, name):
    """Places of a name in annotations that are strings."""
    word = re.compile(rb"(?<![\w.])" + name.encode() + rb"(?!\w)")
    for each in ast.walk(annotation):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and name in each.value:
            end = each.end_col_offset if each.end_lineno == each.lineno else None
            for m in word.finditer(file.lines[each.lineno - 1], each.col_offset, *([end] if end else [])):
                yield each.lineno, m.start()

class Scopes(ast.NodeVisitor):
    """Where a name is bound and used: (scope, line, col, enclosing f-string)."""

    def __init__(self, file, name):
        self.file, self.name = file, name
        self.stack, self.bound, self.uses, self.fstring = [file.tree], set(), [], None
        self.globals = set()
        self.visit(file.tree)

    def at(self, pos, bind=False, scope=None):
        chain = tuple(self.stack)
        if bind:
            self.bound.add(scope or self.stack[-1])
        if pos:
            self.uses.append((chain if scope is None else chain[: chain.index(scope) + 1], *pos, self.fstring))

    def resolve(self, chain):
        if chain[-1] in self.globals:
            return self.file.tree
        for n, scope in enumerate(reversed(chain)):
            if scope in self.bound and (n == 0 or not isinstance(scope, ast.ClassDef)) and scope not in self.globals:
                return scope
        return None

    def inner(self, node, parts):
        self.stack.append(node)
        for each in parts:
            if each is not None:
                self.visit(each)
        self.stack.pop()

    def visit_FunctionDef(self, node):
        a = node.args
        if node.name == self.name:
            self.at(self.file.find(self.name, node.lineno, node.col_offset, node.lineno), True)
        for each in [*node.decorator_list, *a.defaults, *(d for d in a.kw_defaults if d)]:
            self.visit(each)
        args = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        for each in [*(x.annotation for x in args), node.returns]:
            if each:
                self.annotation(each)
        self.inner(node, [*args, *node.body])

    def annotation(self, node):
        self.visit(node)
        for line, col in quoted(self.file, node, self.name):
            self.at((line, col))

    def visit_AnnAssign(self, node):
        self.annotation(node.annotation)
        self.visit(node.target)
        if node.value:
            self.visit(node.value)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        a = node.args
        for each in [*a.defaults, *(d for d in a.kw_defaults if d)]:
            self.visit(each)
        self.inner(node, [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg, node.body])

    def visit_arg(self, node):
        if node.arg == self.name:
            self.at((node.lineno, node.col_offset), True)

    def visit_ClassDef(self, node):
        if node.name == self.name:
            self.at(self.file.find(self.name, node.lineno, node.col_offset, node.lineno), True)
        for each in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(each)
        self.inner(node, node.body)

    def comprehension(self, node):
        self.visit(node.generators[0].iter)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self.stack.append(node)
        for n, g in enumerate(node.generators):
            self.visit(g.target)
            for each in [*([g.iter] if n else []), *g.ifs]:
                self.visit(each)
        for each in parts:
            self.visit(each)
        self.stack.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def visit_NamedExpr(self, node):
        if node.target.id == self.name:
            scope = next(s for s in reversed(self.stack) if not isinstance(s, COMP))
            self.at((node.target.lineno, node.target.col_offset), True, scope)
        self.visit(node.value)

    def visit_Name(self, node):
        if node.id == self.name:
            self.at((node.lineno, node.col_offset), not isinstance(node.ctx, ast.Load))

    def imports(self, node):
        for each in node.names:
            if (each.asname or each.name.split(".")[0]) == self.name:
                pos = self.file.find(self.name, each.lineno, each.col_offset, each.end_lineno)
                if each.asname:
                    pos = (each.end_lineno, each.end_col_offset - len(self.name))
                self.at(pos if each.asname else None, True)
    visit_Import = visit_ImportFrom = imports

    def visit_Global(self, node):
        if self.name in node.names:
            self.at(self.file.find(self.name, node.lineno, node.col_offset, node.end_lineno))
            if isinstance(node, ast.Global):
                self.globals.add(self.stack[-1])
    visit_Nonlocal = visit_Global

    def visit_ExceptHandler(self, node):
        if node.name == self.name:
            self.at(self.file.find(self.name, node.lineno, node.col_offset, node.body[0].lineno), True)
        self.generic_visit(node)

    def visit_MatchAs(self, node):
        if getattr(node, "name", None) == self.name:
            self.at((node.end_lineno, node.end_col_offset - len(self.name)), True)
        self.generic_visit(node)
    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node):
        if node.rest == self.name:
            self.at((node.end_lineno, self.file.lines[node.end_lineno - 1].rfind(b"**", 0, node.end_col_offset) + 2), True)
        self.generic_visit(node)

    def visit_JoinedStr(self, node):
        before, self.fstring = self.fstring, self.fstring or node
        self.generic_visit(node)
        self.fstring = before
def put(file, use, old, new):
    """An edit at a use; positions inside f-strings of Python 3.11 are found again by their braces."""
    _, line, col, fstring = use
    if file.edit(line, col, old, new):
        return True
    if fstring is None:
        return False
    done = False
    word = re.compile(rb"(?<![\w.'\"])" + old.encode() + rb"(?![\w'\"])")
    for n in range(fstring.lineno, fstring.end_lineno + 1):
        for part in re.finditer(rb"\{[^{}]*\}", file.lines[n - 1]):
            for m in word.finditer(file.lines[n - 1], part.start(), part.end()):
                if not re.match(rb"\s*=[^=]", file.lines[n - 1][m.end() :]):
                    done |= file.edit(n, m.start(), old, new)
    return done
def rename_in(file, scope, old, new, problems, scopes=None):
    scopes = scopes or Scopes(file, old)
    taken = Scopes(file, new)
    inside = [u for u in scopes.uses if scopes.resolve(u[0]) is scope]
    if scope in taken.bound or any(s in taken.bound for u in inside for s in u[0][u[0].index(scope) :] if scope in u[0]) or any(
        scope in u[0] and taken.resolve(u[0]) is not scope for u in taken.uses
    ):
        problems.append(f"{file.path}: {new} is taken where {old} is used ({getattr(scope, 'name', 'module')})")
        return False
    for use in inside:
        if not put(file, use, old, new):
            problems.append(f"{file.path}:{use[1]}: {old} not found at its place (f-string?)")
    return True
def module_of(path):
    parts = path.with_suffix("").parts
    for root in ("components", "tests", "testbed", "scripts/cross_checks", "scripts/suite", "scripts", "benchmarks", "policies"):
        r = tuple(root.split("/"))
        if parts[: len(r)] == r and root != "testbed":
            parts = parts[len(r) :]
            break
    return ".".join(parts[:-1] if parts and parts[-1] == "__init__" else parts)

class Tree:
    def __init__(self):
        self.files, self.failed = {}, []

    def py(self):
        return [p for p in tracked() if p.suffix == ".py"]

    def get(self, path):
        if path not in self.files:
            self.files[path] = File(path)
        return self.files[path]

    def with_word(self, word):
        out = subprocess.run(["git", "grep", "-lwF", word, "--", "*.py"], capture_output=True, text=True).stdout
        return [Path(p) for p in out.splitlines()]

    def save(self):
        edited = [path for path, f in self.files.items() if f.edits]
        n = sum(self.files.pop(path).save() for path in edited)
        return n

    def index(self):
        """Attributes, keywords, classes and class patterns of all files, by name."""
        self.attrs, self.kws, self.classes, self.patterns = (collections.defaultdict(list) for _ in range(4))
        for path in self.py():
            f = self.get(path)
            for node in ast.walk(f.tree):
                if isinstance(node, ast.Attribute):
                    self.attrs[node.attr].append((f, node))
                elif isinstance(node, ast.Call):
                    for k in node.keywords:
                        self.kws[k.arg].append((f, node, k))
                elif isinstance(node, ast.ClassDef):
                    self.classes[node.name].append((f, node))
                elif isinstance(node, ast.MatchClass):
                    for k in node.kwd_attrs:
                        self.patterns[k].append((f, node))
def distinctive(name):
    return "_" in name.strip("_") or re.search(r"[a-z][A-Z]", name) is not None
def everywhere(old, new, tree, problems):
    """Each token of the name, in strings and texts too where the name is no English word."""
    pattern = re.compile(rf"(?<![\w]){re.escape(old)}(?!\w)")
    n = 0
    out = subprocess.run(["git", "grep", "-lwF", old], capture_output=True, text=True).stdout
    for path in map(Path, out.splitlines()):
        if path.suffix not in TEXT or (path.suffix != ".py" and not distinctive(old)):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if old not in text:
            continue
        if path.suffix != ".py" or distinctive(old):
            after = pattern.sub(new, text)
        else:
            lines = text.splitlines(keepends=True)
            file = File(path)
            parts = [a for n in ast.walk(file.tree) for a in (getattr(n, "annotation", None), getattr(n, "returns", None)) if a]
            parts += [n.args[0] for n in ast.walk(file.tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "cast"]
            names = [c for n in file.tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__" for c in ast.walk(n)]
            names += [c for c in ast.walk(file.tree) if path.name == "__init__.py"]
            exported = [(c.lineno, c.col_offset + 1) for c in names if isinstance(c, ast.Constant) and c.value == old]
            marks = exported + [(line, len(file.lines[line - 1][:col].decode())) for a in parts for line, col in quoted(file, a, old)]
            spots = [t.start for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.NAME and t.string == old]
            for line, col in sorted({*spots, *marks}, reverse=True):
                lines[line - 1] = lines[line - 1][:col] + new + lines[line - 1][col + len(old) :]
            after = "".join(lines)
            if path.suffix == ".py":
                after = re.sub(rf"(?<=[{{(\[ ,])(?<![\"'\w.]){old}(?=[(\[.,!:}}])(?=[^\n]*\}}[^\n]*[\"'])", new, after) if re.search(r"[fF][\"']", after) and f"{{{old}" in after else after
        if after != text:
            path.write_text(after, encoding="utf-8")
            tree.files.pop(path, None)  # else a later edit would write the old text again
            n += 1
    return n
def scoped(path, old, new, tree, problems):
    todo, seen = [(path, module_of(path))], set()
    while todo:
        where, module = todo.pop()
        if where in seen:
            continue
        seen.add(where)
        file = tree.get(where)
        rename_in(file, file.tree, old, new, problems)
        exported = {id(c) for n in file.tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__" for c in ast.walk(n)}
        for node in ast.walk(file.tree):  # __all__, _HOMES and the like
            if isinstance(node, ast.Constant) and node.value == old and (where.name == "__init__.py" or id(node) in exported):
                file.edit(node.lineno, node.col_offset + 1, old, new)
        package = module.rpartition(".")[0]
        for other in tree.with_word(old):
            text = other.read_text(encoding="utf-8")
            if module not in text and not (package and f"from {package} import" in text):
                continue
            f, names = tree.get(other), {}
            for node in ast.walk(f.tree):
                if isinstance(node, ast.ImportFrom) and node.module == module:
                    for alias in node.names:
                        if alias.name == old:
                            f.edit(alias.lineno, alias.col_offset, old, new)
                            if alias.asname is None and other not in seen:
                                scopes = Scopes(f, old)
                                for scope in [s for s in scopes.bound if node in ast.walk(s)][-1:] if f.tree not in scopes.bound else [f.tree]:
                                    if not rename_in(f, scope, old, new, problems, scopes):
                                        f.edits[alias.lineno, alias.col_offset] = (old.encode(), f"{new} as {old}".encode())
                                if module_of(other) and f.tree in scopes.bound:
                                    todo.append((other, module_of(other)))
                elif isinstance(node, (ast.Import, ast.ImportFrom)):
                    for alias in node.names:
                        full = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
                        if full == module:
                            names[alias.asname or alias.name] = True
            for node in ast.walk(f.tree):
                if isinstance(node, ast.Attribute) and node.attr == old and ast.unparse(node.value) in names:
                    f.edit(node.end_lineno, node.end_col_offset - len(old), old, new)
                if isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value == old and ast.unparse(node.args[0]) in names:
                    f.edit(node.args[1].lineno, node.args[1].col_offset + 1, old, new)
    tree.save()
    dotted = [(f"{module_of(p)}{sep}{old}", f"{module_of(p)}{sep}{new}") for p in seen for sep in ".:" if module_of(p)]
    texts(dotted, tree)
    return len(seen)
def texts(pairs, tree):
    words = [w for old, _ in pairs for w in ("-e", old)]
    out = subprocess.run(["git", "grep", "-lF", *words], capture_output=True, text=True).stdout if pairs else ""
    for path in map(Path, out.splitlines()):
        if path.suffix in TEXT:
            try:
                text = after = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            for old, new in pairs:
                if old in after:
                    after = re.sub(rf"(?<![\w.]){re.escape(old)}(?![\w])", new, after)
            if after != text:
                path.write_text(after, encoding="utf-8")
                tree.files.pop(path, None)
def module(old, new, tree, problems):
    src, dst = (Path("components", *x.split(".")) for x in (old, new))
    if not src.is_dir():
        src, dst = src.with_suffix(".py"), dst.with_suffix(".py")
    if not src.exists() or dst.exists():
        problems.append(f"module {old}: {src} is missing or {dst} exists")
        return 0
    dst.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "mv", src, dst], check=True)
    pairs = [(old, new), (str(src.with_suffix("")), str(dst.with_suffix(""))), (str(src.with_suffix(""))[len("components/") :], str(dst.with_suffix(""))[len("components/") :])]
    package, name = old.rpartition(".")[::2]
    new_package, new_name = new.rpartition(".")[::2]
    test = Path("tests", *package.split(".")[1:], f"test_{name}.py")
    if test.exists() and not (moved := test.with_name(f"test_{new_name}.py")).exists():
        subprocess.run(["git", "mv", test, moved], check=True)
        pairs.append((str(test), str(moved)))
    for path in tree.with_word(name):
        path = moved if path == test and not path.exists() else dst if path == src and not path.exists() else path
        if not path.exists():
            continue
        f = tree.get(path)
        for node in ast.walk(f.tree):
            if isinstance(node, ast.ImportFrom) and node.module == package:
                for alias in node.names:
                    if alias.name == name:
                        f.edit(alias.lineno, alias.col_offset, name, new_name)
                        if package != new_package:
                            problems.append(f"{path}:{node.lineno}: from {package} import {name}: moved to another package, by hand")
                        if alias.asname is None:
                            rename_in(f, f.tree, name, new_name, problems)
    tree.save()
    texts(pairs, tree)
    path = Path("pyproject.toml")  # contracts with containers name modules relative to these
    blocks = path.read_text(encoding="utf-8").split("[[tool.importlinter.contracts]]")
    word = re.compile(rf'(?<=["| (]){re.escape(name)}(?=[)" |])')
    for n, block in enumerate(blocks):
        if f'containers = ["{package}"]' in block:
            rows = block.splitlines(keepends=True)
            blocks[n] = "".join(word.sub(new_name, r) if re.match(r'\s+"', r) and "#" not in r else r for r in rows)
    path.write_text("[[tool.importlinter.contracts]]".join(blocks), encoding="utf-8")
    return 1
def attributes(where, old, new, tree, problems, types):
    """Edits stay unsaved until all fields are done, so that the places in `types` hold."""
    owner, _, name = old.rpartition(".")
    unique, done = where == "*", 0
    for f, node in tree.classes[owner]:
        if not unique and str(f.path) != where:
            continue
        for each in node.body:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and each.name == name:
                done += f.edit(*f.find(name, each.lineno, each.col_offset, each.lineno), name, new)
        scopes = Scopes(f, name)
        for use in scopes.uses:
            if scopes.resolve(use[0]) is node:
                done += put(f, use, name, new)
    for f, node in tree.attrs[name]:
        owners = types.get(str(f.path), {}).get(f"{node.lineno}:{node.col_offset}:{name}")
        mine = owner in owners if owners else None
        if mine or (mine is None and (unique or (isinstance(node.value, ast.Name) and node.value.id == owner))):
            if not f.edit(node.end_lineno, node.end_col_offset - len(name), name, new):
                for n in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    for m in re.finditer(rb"\{[^{}]*\." + name.encode() + rb"\b", f.lines[n - 1]):
                        f.edit(n, m.end() - len(name), name, new)
            done += 1
        elif mine is None:
            problems.append(f"{f.path}:{node.lineno}: .{name} of unknown type")
    for f, call, k in tree.kws[name]:
        called = ast.unparse(call.func).rpartition(".")[2]
        owners = types.get(str(f.path), {}).get(f"replace:{call.lineno}")
        if called in {owner, "cls"} or (called in {"replace", "model_copy"} and (unique or owner in (owners or ()))):
            done += f.edit(k.lineno, k.col_offset, name, new)
        elif called == "replace" and owners is None:
            problems.append(f"{f.path}:{call.lineno}: replace(..., {name}=) of unknown type")
    for f, node in tree.patterns[name]:
        if ast.unparse(node.cls).rpartition(".")[2] == owner and (pos := f.find(name, node.lineno, node.col_offset, node.end_lineno)):
            done += f.edit(*pos, name, new)
    return done
def variable(where, old, new, tree, problems):
    """`where`: a file, `*`, or FILE::FUNCTION."""
    n = 0
    where, _, only = where.partition("::")
    for path in tree.with_word(old) if where == "*" else [Path(where)]:
        f = tree.get(path)
        scopes = Scopes(f, old)
        for scope in scopes.bound:
            if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, *COMP)):
                if only and getattr(scope, "name", None) != only and not (isinstance(scope, (*COMP, ast.Lambda)) and only in {
                    getattr(s, "name", None) for use in scopes.uses if scopes.resolve(use[0]) is scope for s in use[0]
                }):
                    continue
                if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    a = scope.args
                    parameter = any(x.arg == old for x in (*a.args, *a.kwonlyargs, *a.posonlyargs))
                    if parameter and any(
                        isinstance(c, ast.Call) and any(k.arg == old for k in c.keywords)
                        and ast.unparse(c.func).rpartition(".")[2] in {scope.name, scope.name.replace("__init__", "")}
                        for p in tree.with_word(scope.name) for c in ast.walk(tree.get(p).tree)
                    ):
                        problems.append(f"{path}:{scope.lineno}: parameter {old} of {scope.name} is given by keyword")
                        continue
                    if parameter and any(d for d in scope.decorator_list) and "fixture" not in ast.unparse(scope.decorator_list[0]) and str(path).startswith("tests"):
                        continue  # parametrized by name
                    if parameter and str(path).startswith("tests") and scope.name.startswith("test_"):
                        continue  # a fixture
                n += rename_in(f, scope, old, new, problems, scopes)
    tree.save()
    return n
def write_types(out):
    """The classes of the receivers of attributes, and of the first argument of replace(), by file and place."""
    from mypy import build, nodes, types as t
    from mypy.config_parser import parse_config_file
    from mypy.find_sources import create_source_list
    from mypy.options import Options

    options = Options()
    parse_config_file(options, lambda: None, "pyproject.toml", sys.stdout, sys.stderr)
    options.export_types = options.preserve_asts = options.check_untyped_defs = True
    options.incremental, options.cache_dir, options.warn_unused_ignores = False, "/dev/null", False
    options.mypy_path = ["components", "scripts", "scripts/cross_checks", "scripts/suite", "policies", "tests", "."]
    files = [str(p) for p in tracked() if p.suffix == ".py" and p.name != "__main__.py" and not str(p).startswith(("docs",))]
    seen, sources = set(), []
    for s in create_source_list(files, options):
        if s.module not in seen:
            seen.add(s.module)
            sources.append(s)
    result = build.build(sources, options)
    found = collections.defaultdict(dict)

    def owners(typ):
        typ = t.get_proper_type(typ)
        if isinstance(typ, t.UnionType):
            return sorted({o for each in typ.items for o in owners(each)})
        if isinstance(typ, t.TypeVarType):
            return owners(typ.upper_bound)
        if isinstance(typ, t.TupleType):
            return owners(typ.partial_fallback)
        if isinstance(typ, t.CallableType) and typ.is_type_obj():
            return owners(typ.ret_type)
        if isinstance(typ, t.TypeType):
            return owners(typ.item)
        return [c.name for c in typ.type.mro] if isinstance(typ, t.Instance) else []

    def walk(path, node, seen):
        """Every node below, by the attributes of the compiled classes."""
        todo = [node]
        while todo:
            o = todo.pop()
            if isinstance(o, (list, tuple)):
                todo += o
                continue
            if not isinstance(o, nodes.Node) or isinstance(o, (nodes.SymbolNode, nodes.TypeInfo)) and not isinstance(o, (nodes.FuncDef, nodes.Decorator, nodes.OverloadedFuncDef, nodes.MypyFile)) or id(o) in seen:
                continue
            seen.add(id(o))
            if isinstance(o, nodes.MemberExpr) and (k := result.types.get(o.expr)) is not None and (names := owners(k)):
                found[path][f"{o.line}:{o.column}:{o.name}"] = names
            if isinstance(o, nodes.CallExpr) and getattr(o.callee, "name", "") == "replace" and o.args and (k := result.types.get(o.args[0])) is not None:
                found[path][f"replace:{o.line}"] = owners(k)
            for name in slots(type(o)):
                todo.append(getattr(o, name, None))

    cache = {}

    def slots(cls):
        if cls not in cache:
            cache[cls] = [n for n in dir(cls) if not n.startswith("_") and n not in {"info", "type", "node", "names", "imports", "expanded", "unanalyzed_items"} and type(getattr(cls, n)).__name__ in {"getset_descriptor", "member_descriptor"}]
        return cache[cls]

    for name, file in result.files.items():
        if file.path and not file.path.startswith("/") and ".venv" not in file.path:
            walk(file.path, file.defs, set())
    Path(out).write_text(json.dumps(found), encoding="utf-8")
    print(f"{sum(map(len, found.values()))} attributes in {len(found)} files; {len(result.errors)} messages of mypy")
def relocated(where, moved):
    at, sep, rest = where.partition("::")
    root, _, path = at.partition("/")
    if root != "components":
        return where
    parts = path.removesuffix(".py").split("/")
    out = list(parts)
    for n in range(1, len(parts) + 1):
        new = moved.get(".".join(parts[:n]))
        if new:
            out[n - 1] = new.rpartition(".")[2]
    return root + "/" + "/".join(out) + ".py" + sep + rest

def main():
    command, table = sys.argv[1:3]
    if command == "types":
        return write_types(table)
    option = lambda name: sys.argv[sys.argv.index(name) + 1] if name in sys.argv else ""
    kinds = set(filter(None, option("--kinds").split(",")))
    types = json.loads(Path(option("--types")).read_text()) if option("--types") else {}
    rows = [line.split("\t") for line in Path(table).read_text(encoding="utf-8").splitlines()[1:] if line.strip() and line[0] != "#"]
    tree = Tree()
    order = ["field", "method", "stack-field", "variable", "module", "class", "function", "constant"]
    rows = sorted((r for r in rows if r[0] in order), key=lambda r: (order.index(r[0]), -r[2].count(".") if r[0] == "module" else 0))
    if any(r[0] in order[:3] and (not kinds or r[0] in kinds) for r in rows):
        tree.index()
    tally, stuck = collections.Counter(), 0
    moved_modules = {r[2]: r[3] for r in rows if r[0] == "module"} if not kinds or "module" in kinds or "--moved" in sys.argv else {}
    for kind, where, old, new, *_ in rows:
        if kinds and kind not in kinds:
            continue
        if kind not in order[:3]:
            tree.save()
        problems, base = [], old.rpartition(".")[2]
        if kind not in order[:5] and where != "*":
            where = relocated(where, moved_modules)
        at = where.partition("::")[0]
        if at.endswith(".py") and not Path(at).exists():
            print("ABSENT", kind, where, old)
            continue
        unique = "unique" in _
        if kind == "module":
            done = module(old, new, tree, problems)
        elif kind in {"class", "function", "constant"}:
            done = everywhere(old, new, tree, problems) if where == "*" else scoped(Path(where), old, new, tree, problems)
        elif kind in {"field", "method", "stack-field"}:
            done = attributes(where, old, new, tree, problems, types)
        elif kind == "variable":
            done = variable(where, old, new, tree, problems)
        else:
            continue
        tally[bool(done), kind] += 1
        stuck += len(problems)
        print(f"{'ok' if done else 'NOTHING'}\t{kind}\t{old} -> {new}\t{done}", *(f"\n    {p}" for p in problems[:6]), sep="")
    tree.save()
    print({f"{kind} {'done' if ok else 'not done'}": n for (ok, kind), n in sorted(tally.items())}, stuck, "places for a person")

main()
