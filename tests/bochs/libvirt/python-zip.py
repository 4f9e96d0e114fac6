#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""python-zip.py OUT.zip PROGRAM... packs the modules that Python itself and these programs import
of its library, compiled, into one file where Python looks first. The emulated host then compiles
nothing. It would compile at each start, because an initramfs keeps no times of files, by which
Python tells whether a compiled file is current."""
import ast
import importlib.util
import marshal
import subprocess
import sys
import zipfile


def imported(program):
    """Yields the names in a program's import statements."""
    with open(program, encoding="utf-8") as f:
        for node in ast.walk(ast.parse(f.read())):
            if isinstance(node, ast.Import):
                yield from (a.name for a in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module


def sources(names):
    """Returns (name, file) of each module that is loaded with these names, and at Python's own
    start."""
    code = "import sys, %s\nfor n, m in sorted(sys.modules.items()): print(n, getattr(m, '__file__', None))"
    out = subprocess.run([sys.executable, "-I", "-c", code % ", ".join(names)], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return [line.split(" ") for line in out.splitlines()]


def compiled(path):
    with open(path, encoding="utf-8") as f:
        code = compile(f.read(), path, "exec", dont_inherit=True)
    # Flags 1 mean that the file is checked by its source's hash, and that the hash is not looked
    # at.
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


def main():
    names = sorted({n for p in sys.argv[2:] for n in imported(p)})
    with zipfile.ZipFile(sys.argv[1], "w") as out:
        for name, path in sources(names):
            if not path.endswith(".py") or name == "__main__":
                continue
            inside = name.replace(".", "/") + ("/__init__" if path.endswith("__init__.py") else "")
            out.writestr(zipfile.ZipInfo(inside + ".pyc"), compiled(path))


main()
