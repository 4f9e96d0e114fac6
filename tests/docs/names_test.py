#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The test promises that all that the documentation names exists: every path of the tree or of the kernel series, every
link, every file, function() and kernel selftest. A name is a text in backticks in README.md, docs/*.md or a folder's
README. The test needs nothing but the sources (and build/gen for generated functions)."""
import functools
import glob
import os
import re
import sys
import tempfile

TOP = os.environ.get('WH_TOP', '@TOP@')
GEN = os.path.join(os.environ.get('WH_BUILD', '@BUILD@'), 'gen')

FOLDERS = ('bench client-stubs cuda-api examples host hypercall-abi packaging server softgpu tests tools trampoline '
           'kvm-patches').split()
# A path that a document may name begins with a folder of ours or of the kernel, which has a `tools/` as well.
PATH = re.compile(r'(arch|Documentation|virt|docs|kvm-patches|bench|client-stubs|cuda-api|examples|host|hypercall-abi|'
                  r'server|softgpu|tests|tools|trampoline)/[A-Za-z0-9_.*/-]*')
FILE = re.compile(r'[A-Za-z0-9_.-]+\.(c|h|\[ch\]|sh|py|asm|inc|mk|api|cu|def|S|config)')
NVIDIAS = re.compile(r'(cu|nvml|nvjpeg|npp)[A-Za-z]*\.h')
TESTS = re.compile(r'`((?:tests|kvm-patches)/[^`]*(?:\.(?:sh|c|py)|/run))`')


@functools.lru_cache(None)
def text(path):
    with open(path, encoding='utf-8', errors='replace') as f:
        return f.read()


def below(folder):
    """Returns the files below a folder, but for those that are built and git's."""
    for path, folders, files in os.walk(folder):
        folders[:] = [d for d in folders if d not in ('build', '.git')]
        yield from (os.path.normpath(os.path.join(path, f)) for f in files)


def kernel_files():
    return {m for p in glob.glob('kvm-patches/*.patch') for m in re.findall(r'^\+\+\+ b/(.*)', text(p), re.M)}


def defined_functions():
    """Returns each name before a parenthesis in a source, and the symbols of the trampoline, which have none."""
    found = set()
    for path in (p for folder in (*FOLDERS, GEN) for p in below(folder)):
        if path.endswith('.md') or path.startswith('tests/docs/'):
            continue
        with open(path, 'rb') as f:
            data = f.read()
        if b'\0' not in data[:4096]:
            found.update(re.findall(rb'\b([A-Za-z_]\w*) ?\(', data))
    found.update(s for p in glob.glob('trampoline/*.asm') for s in re.findall(r'^([A-Za-z_]\w*):', text(p), re.M))
    return {f.decode() if isinstance(f, bytes) else f for f in found}


TREE = KERNEL = FUNCTIONS = ()      # read in main()


def names(doc):
    return sorted(set(re.findall('`([^`\n]*)`', text(doc))))


def missing_paths(doc):
    """A path is named from the top, from the document's own folder, or as in the kernel."""
    folder = os.path.dirname(doc)
    for p in names(doc):
        if not PATH.fullmatch(p) or p.startswith('tools/include'):
            continue
        if not (glob.glob(p) or glob.glob(os.path.join(folder, p)) or p in KERNEL):
            yield f'no such path: {p}'


def missing_files(doc):
    """A name without a folder is below the document's own folder, or in the kernel. NVIDIA's headers are left out."""
    folder = os.path.dirname(doc) + '/' if '/' in doc else ''
    here = {os.path.basename(p) for p in TREE if p.startswith(folder)} | {os.path.basename(p) for p in KERNEL}
    for f in names(doc):
        if not FILE.fullmatch(f) or NVIDIAS.fullmatch(f) or 'NAME' in f:
            continue
        if f.replace('.[ch]', '.c') not in here:
            yield f'no such file: {f}'


def missing_links(doc):
    for p in sorted(set(re.findall(r'\]\(([^)#\n]+)', text(doc)))):
        if not re.match('https?:', p) and not os.path.exists(os.path.join(os.path.dirname(doc), p)):
            yield f'no such link: {p}'


def missing_functions(doc):
    for f in names(doc):
        if re.fullmatch(r'[A-Za-z_][A-Za-z0-9_]*\(\)', f) and f[:-2] not in FUNCTIONS:
            yield f'no such function: {f[:-2]}'


def missing_selftests(doc):
    for t in names(doc):
        if re.fullmatch('wormhole_[a-z_]*_test', t) and not os.path.exists(f'kvm-patches/selftests/x86_64/{t}.c'):
            yield f'no such selftest: {t}'


def missing_points(doc):
    """A line of docs/specification*.md names test files, and behind them points that are in them."""
    for line in text(doc).splitlines():
        files = TESTS.findall(line) if line.startswith('|') else ()
        if not files:
            continue
        behind = re.sub(r'.*/([a-z0-9_]*\.(sh|c|py)|run)`', '', line)
        for p in re.findall('`([^`]*)`', behind):
            if not any(p in text(f) for f in files if os.path.isfile(f)):
                yield f'no such point: {p}'


KINDS = {'paths': missing_paths, 'files': missing_files, 'links': missing_links, 'functions': missing_functions,
         'selftests': missing_selftests, 'points': missing_points}


# The check itself must be able to fail, and to succeed.
CONTROL = '''in `server/session/dispatch.c` the `wh_dispatch_slot()` of `wormhole_switch_test`
`server/nothing.c` `wh_nothing_such()` `wormhole_nothing_test` `cuda.h` `nothing_here.c`
[there](control.md) [not there](nothing.md#there) [elsewhere](https://example.org/)
| x | `tests/unit/fuzz_test.c`: `random_requests_do_no_harm`, `no_such_point` |
'''
NOT_THERE = ['no such path: server/nothing.c', 'no such file: nothing_here.c', 'no such link: nothing.md',
             'no such function: wh_nothing_such', 'no such selftest: wormhole_nothing_test',
             'no such point: no_such_point']


def control():
    with tempfile.TemporaryDirectory() as folder:
        doc = os.path.join(folder, 'control.md')
        with open(doc, 'w', encoding='utf-8') as f:
            f.write(CONTROL)
        found = [said for missing in KINDS.values() for said in missing(doc)]
    return [f'found {found}'] if found != NOT_THERE else []


def main():
    global TREE, KERNEL, FUNCTIONS
    os.chdir(TOP)
    TREE, KERNEL, FUNCTIONS = list(below('.')), kernel_files(), defined_functions()
    docs = ['README.md', 'CONTRIBUTING.md', *glob.glob('docs/*.md'),
            *(p for p in TREE if p.endswith('/README.md') and p.count('/') < 4)]
    points = [('names_that_do_not_exist_are_found', control())]
    points += [(f'named_{kind}_exist', [f'{d}: {said}' for d in sorted(docs) for said in missing(d)])
               for kind, missing in KINDS.items()]
    print(f'TAP version 13\n1..{len(points)}')
    for n, (name, wrong) in enumerate(points, 1):
        print(f'{"not ok" if wrong else "ok"} {n} - {name}')
        print(''.join(f'# {w}\n' for w in wrong), end='')
    return any(wrong for _, wrong in points)


sys.exit(main())
