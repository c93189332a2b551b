"""Read pytest output (--tb=short), fix attribute and keyword names by the table. Usage: autofix.py OUTPUT"""
import ast,re,sys,collections
from pathlib import Path
rows=[l.split("\t") for l in Path("docs/contributing/renames.tsv").read_text().split("\n")[1:] if l]
cls={r[2]:r[3] for r in rows if r[0]=="class"}
F=collections.defaultdict(dict); byold=collections.defaultdict(set); bynew=collections.defaultdict(set)
for r in rows:
    if r[0] in("field","method") and "." in r[2]:
        c,o=r[2].rsplit(".",1); n=r[3].rsplit(".",1)[-1]
        F[cls.get(c,c)][o]=n; F[c][o]=n; byold[o].add(n); bynew[n].add(o)
    if r[0] in("function",): byold[r[2]].add(r[3]); bynew[r[3]].add(r[2])
text=Path(sys.argv[1]).read_text(errors="replace")
loc=None; todo=collections.defaultdict(set); un=collections.Counter()
for line in text.split("\n"):
    m=re.match(r"\s*(?:\|\s*)*(?:File \")?((?:tests|components|testbed|scripts|benchmarks)/[\w/.-]+\.py)(?:\", line |:)(\d+)(?:, in|: in|: |$)",line)
    if m: loc=(m[1],int(m[2])); continue
    m=re.search(r"AttributeError: (?:'(\w+)' object|type object '(\w+)'|<class '[\w.]*?(\w+)'>) (?:has no attribute|object has no attribute) '(\w+)'",line)
    k=re.search(r"TypeError: (\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'",line)
    f=re.search(r"TypeError: (?:\w+\.)?(\w+)\(\) got an unexpected keyword argument '(\w+)'",line)
    r=re.search(r"TypeError: .*unexpected field|has no attribute or field|unexpected keyword",line)
    if m and loc:
        c=m[1] or m[2] or m[3]; a=m[4]
        if a in F.get(c,{}): todo[loc].add(("attr",a,F[c][a]))
        elif a in bynew and loc: todo[loc].add(("def",a,tuple(sorted(bynew[a])),c))
        elif len(byold.get(a,()))==1: todo[loc].add(("attr",a,next(iter(byold[a]))))
        else: un[f"{c}.{a} {sorted(byold.get(a,()))}"]+=1
    elif k and loc:
        c,a=k[1],k[2]
        n=F.get(c,{}).get(a) or (next(iter(byold[a])) if len(byold.get(a,()))==1 else None)
        if n: todo[loc].add(("kw",a,n))
        else: un[f"{c}({a}=) {sorted(byold.get(a,()))}"]+=1
def apply(path,line,what):
    p=Path(path); t=p.read_text(); tree=ast.parse(t); L=t.encode().split(b"\n"); ed=[]
    kind,a,n=what[:3]
    stm=[x for x in ast.walk(tree) if isinstance(x,ast.stmt) and x.lineno<=line<=x.end_lineno and not isinstance(x,(ast.FunctionDef,ast.ClassDef,ast.AsyncFunctionDef,ast.With,ast.For,ast.If,ast.Try,ast.While))]
    scope=stm or [tree]
    if kind=="attr":
        for s in scope:
            for x in ast.walk(s):
                if isinstance(x,ast.Attribute) and x.attr==a and (x.end_lineno==line or stm): ed.append((x.end_lineno,x.end_col_offset-len(a.encode()),a,n))
    elif kind=="kw":
        for s in scope:
            for x in ast.walk(s):
                if isinstance(x,ast.Call):
                    for k in x.keywords:
                        if k.arg==a: ed.append((k.lineno,k.col_offset,a,n))
    for (l,c,o,nn) in sorted(set(ed),reverse=True):
        row=L[l-1]
        if row[c:c+len(o)]==o.encode(): L[l-1]=row[:c]+nn.encode()+row[c+len(o):]
    p.write_bytes(b"\n".join(L)); return len(ed)
n=0
for (path,line),whats in sorted(todo.items(),reverse=True):
    for w in whats:
        if w[0]=="def":
            un[f"fake {w[3]} lacks {w[1]} (old {w[2]}) at {path}:{line}"]+=1; continue
        k=apply(path,line,w); n+=k
        if not k: un[f"no place {path}:{line} {w}"]+=1
print("edits",n)
for k,v in un.most_common(60): print(v,k)
