# SPDX-License-Identifier: Apache-2.0
# Build dependency: python3-clang-14 (libclang).
"""Read C headers into plain Python objects, by libclang.

Owns the knowledge of how NVIDIA's headers are to be parsed, nothing about what
the project does with them; the generators of both API layers build on it.

    hdr = headers.driver()                              # cuda.h, every name
    hdr.functions['cuMemAlloc_v2'].params[0].type.pointee.size
    headers.current_names()['cuMemAlloc']               # 'cuMemAlloc_v2'
    headers.pfn_versions()['cuMemAlloc']                # [(2000, 'cuMemAlloc'), ...]

Objects
  Header    functions {name: Function}, records {name: Type}, enums {name: {const: value}},
            macros {name: [token, ...]} (object-like and function-like, own text)
  Function  name, result (Type), params [Param], variadic, deprecated
  Param     name, type, default ('' or the text, never used for C)
  Type      spelling   as written ('const CUDA_MEMCPY2D *')
            kind       'void' 'int' 'float' 'enum' 'record' 'union' 'handle' 'pointer'
                       'function' 'array' ('handle': pointer to a struct that is never defined)
            size align bytes, 0 where the type has none
            const      of this level
            pointee    for 'pointer' and 'array'
            count      for 'array'
            signed     for 'int'
            fields     for 'record'/'union': [Field(name, type, offset)]; anonymous members too
            has_pointer()  True if a client address hides anywhere inside

Types are shared and lazy: a field list is only built when it is asked for.
"""

import functools
import os
import re
import subprocess
from dataclasses import dataclass, field

import clang.cindex as ci


# Empty headers of C++ that NVIDIA's ask for and do not use, so that C can read these.
PLAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'plain')


def build_folder():
    return os.environ.get('WH_BUILD') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../build')


def _cuda_include():
    """Returns the toolkit's header folder: $CUDA_INC, else the first usual place."""
    for path in (os.environ.get('CUDA_INC'), build_folder() + '/nvcc/include',
                 os.environ.get('CUDA_HOME', '/nonexistent') + '/include', '/usr/local/cuda/include'):
        if path and os.path.exists(os.path.join(path, 'cuda.h')):
            return path
    raise SystemExit('headers.py: cuda.h not found; set CUDA_INC to the folder that holds it')


@functools.lru_cache(None)
def _compiler_include():
    """Returns the folder of stddef.h and the like: Debian's libclang has no resource folder."""
    for cmd in (['clang', '-print-resource-dir'], ['gcc', '-print-file-name=include']):
        try:
            out = subprocess.run(cmd, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            continue
        return os.path.join(out, 'include') if cmd[0] == 'clang' else out
    raise SystemExit('headers.py: neither clang nor gcc is on PATH')


class Type:
    """One C type; see the module's description."""

    _INT = {'BOOL', 'CHAR_U', 'UCHAR', 'USHORT', 'UINT', 'ULONG', 'ULONGLONG', 'CHAR_S', 'SCHAR',
            'WCHAR', 'SHORT', 'INT', 'LONG', 'LONGLONG', 'UINT128', 'INT128'}
    _UNSIGNED = {'BOOL', 'CHAR_U', 'UCHAR', 'USHORT', 'UINT', 'ULONG', 'ULONGLONG', 'UINT128'}
    _FLOAT = {'FLOAT', 'DOUBLE', 'LONGDOUBLE', 'HALF', 'FLOAT128'}

    def __init__(self, ctype):
        self._c = ctype
        canon = ctype.get_canonical()
        self.spelling = ctype.spelling
        self.canonical = canon.spelling
        self.const = canon.is_const_qualified() or ctype.is_const_qualified()
        self.size = max(canon.get_size(), 0)
        self.align = max(canon.get_align(), 0)
        self.kind = self._kind(canon)
        self.signed = self.kind == 'int' and canon.kind.name not in self._UNSIGNED
        self.count = canon.element_count if self.kind == 'array' and canon.kind.name == 'CONSTANTARRAY' else 0

    def _kind(self, canon):
        name = canon.kind.name
        if name in self._INT:
            return 'int'
        if name in self._FLOAT:
            return 'float'
        if name == 'POINTER':
            to = canon.get_pointee().get_canonical()
            if to.kind.name in ('FUNCTIONPROTO', 'FUNCTIONNOPROTO'):
                return 'function'
            if to.kind.name == 'RECORD' and to.get_size() < 0:
                return 'handle'
            return 'pointer'
        if name == 'RECORD':
            union = canon.get_declaration().kind == ci.CursorKind.UNION_DECL
            return 'union' if union else 'record'
        return {'VOID': 'void', 'ENUM': 'enum', 'CONSTANTARRAY': 'array', 'INCOMPLETEARRAY': 'array',
                'FUNCTIONPROTO': 'function', 'FUNCTIONNOPROTO': 'function'}.get(name, name.lower())

    @functools.cached_property
    def pointee(self):
        canon = self._c.get_canonical()
        if self.kind == 'array':
            return Type(canon.element_type)
        if self.kind not in ('pointer', 'handle', 'function'):
            return None
        plain = self._c
        while plain.kind.name in ('TYPEDEF', 'ELABORATED'):
            plain = (plain.get_declaration().underlying_typedef_type if plain.kind.name == 'TYPEDEF'
                     else plain.get_named_type())
        to = plain.get_pointee() if plain.kind.name == 'POINTER' else canon.get_pointee()
        return Type(to)

    @functools.cached_property
    def fields(self):
        """Returns fields with byte offsets; members of anonymous structs have offsets in their own record."""
        out = []
        for f in self._c.get_canonical().get_fields():
            off = f.get_field_offsetof()
            out.append(Field(f.spelling, Type(f.type), off // 8 if off >= 0 else -1))
        return out

    def has_pointer(self, handles=False):
        """Is there a client address (with handles=True: or a handle) anywhere inside?"""
        if self.kind in ('pointer', 'function'):
            return True
        if self.kind == 'handle':
            return handles
        if self.kind == 'array':
            return self.pointee.has_pointer(handles)
        return self.kind in ('record', 'union') and any(f.type.has_pointer(handles) for f in self.fields)

    @property
    def bare(self):
        """Returns the spelling without a const at this level."""
        return re.sub(r'^const\s+|\s+const$', '', self.spelling)

    def declare(self, name):
        """Returns C text that declares `name` with this type (also for function pointers and arrays)."""
        text = self.spelling
        if '(*)' in text:
            return text.replace('(*)', f'(*{name})', 1)
        if '[' in text:
            head, tail = text.split('[', 1)
            return f'{head.rstrip()} {name}[{tail}'
        return text + ('' if text.endswith('*') else ' ') + name

    def __repr__(self):
        return f'<{self.kind} {self.spelling}>'


@dataclass
class Field:
    name: str
    type: Type
    offset: int


@dataclass
class Param:
    name: str
    type: Type
    default: str = ''

    def declare(self):
        return self.type.declare(self.name)


@dataclass
class Function:
    name: str
    result: Type
    params: list
    variadic: bool = False
    deprecated: bool = False
    file: str = ''          # the header's name

    def prototype(self, name=None):
        """Returns C text of the declaration, without the semicolon."""
        args = ', '.join(p.declare() for p in self.params) or 'void'
        return f'{self.result.spelling} {name or self.name}({args})'


@dataclass
class Header:
    functions: dict = field(default_factory=dict)
    records: dict = field(default_factory=dict)
    enums: dict = field(default_factory=dict)
    macros: dict = field(default_factory=dict)
    tu: object = None


def _function(cur, defaults):
    params = []
    for i, arg in enumerate(cur.get_arguments()):
        tokens = [t.spelling for t in arg.get_tokens()] if defaults else []
        default = ' '.join(tokens[tokens.index('=') + 1:]) if '=' in tokens else ''
        params.append(Param(arg.spelling or f'arg{i}', Type(arg.type), default))
    deprecated = cur.availability == ci.AvailabilityKind.DEPRECATED
    return Function(cur.spelling, Type(cur.result_type), params, cur.type.kind.name == 'FUNCTIONPROTO' and
                    cur.type.is_function_variadic(), deprecated, os.path.basename(str(cur.location.file)))


def _add(hdr, cur, keep, cplusplus):
    kind = cur.kind
    if kind == ci.CursorKind.FUNCTION_DECL and cur.storage_class == ci.StorageClass.STATIC:
        return
    if kind == ci.CursorKind.FUNCTION_DECL and keep(cur.spelling):
        hdr.functions.setdefault(cur.spelling, _function(cur, cplusplus))
    elif kind == ci.CursorKind.TYPEDEF_DECL:
        canon = cur.type.get_canonical()
        if canon.kind.name == 'RECORD' and canon.get_size() >= 0:
            hdr.records[cur.spelling] = Type(cur.type)
        elif canon.kind.name == 'ENUM':
            hdr.enums[cur.spelling] = {c.spelling: c.enum_value
                                       for c in canon.get_declaration().get_children()}
    elif kind in (ci.CursorKind.STRUCT_DECL, ci.CursorKind.UNION_DECL):
        if cur.spelling and cur.type.get_size() >= 0:
            hdr.records.setdefault(cur.spelling, Type(cur.type))
    elif kind == ci.CursorKind.ENUM_DECL and cur.spelling:
        hdr.enums.setdefault(cur.spelling, {c.spelling: c.enum_value for c in cur.get_children()})
    elif kind == ci.CursorKind.MACRO_DEFINITION:
        hdr.macros[cur.spelling] = [t.spelling for t in cur.get_tokens()][1:]


def _add_all(hdr, parent, keep, cplusplus):
    """Adds what a parent has. extern "C" { } is a parent of its own, which libclang does not always name."""
    for cur in parent.get_children():
        if cur.kind in (ci.CursorKind.LINKAGE_SPEC, ci.CursorKind.UNEXPOSED_DECL):
            _add_all(hdr, cur, keep, cplusplus)
        else:
            _add(hdr, cur, keep, cplusplus)


def parse(source, defines=(), keep=lambda name: name.startswith('cu'), cplusplus=False, includes=()):
    """Parse C text (usually a few #include lines); keep(name) chooses the functions.

    Any error that clang reports ends the program: a half-read header would
    silently generate a half-empty interface.
    """
    args = ['-x', 'c++', '-std=c++17'] if cplusplus else ['-x', 'c', '-std=gnu11']
    args += ['-I' + p for p in (*includes, PLAIN)] + ['-I' + _cuda_include(), '-isystem', _compiler_include()]
    args += ['-D' + d for d in defines]
    opts = (ci.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD |
            ci.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES)
    tu = ci.Index.create().parse('wormhole_input.h', args=args, unsaved_files=[('wormhole_input.h', source)],
                                 options=opts)
    bad = [str(d) for d in tu.diagnostics if d.severity >= ci.Diagnostic.Error]
    if bad:
        raise SystemExit('headers.py: ' + '\n'.join(bad))
    hdr = Header(tu=tu)
    _add_all(hdr, tu.cursor, keep, cplusplus)
    return hdr


def driver_source():
    """Returns text whose parse declares every exported driver function, with old versions and _ptsz."""
    return ('#define __CUDA_API_VERSION_INTERNAL\n#define __CUDA_API_VERSION_INTERNAL_ODR\n'
            '#include <cuda.h>\n#include <cudaProfiler.h>\n')


@functools.lru_cache(None)
def driver():
    """Returns the parse of driver_source(), which is not the caller's to change."""
    return parse(driver_source())


GRAPHICS = ('cudaGL', 'cudaEGL', 'cudaVDPAU')


@functools.lru_cache(None)
def graphics_names():
    """Returns the names of the driver's functions for graphics, of all versions, sorted. What their headers include
    (GL, EGL, VDPAU) need not be there, so the text alone is read. Windows' function (cuWGL) is none of ours."""
    names = set()
    for header in GRAPHICS:
        with open(os.path.join(_cuda_include(), header + '.h'), encoding='utf-8') as f:
            text = f.read()
        names.update(re.findall(r'\bCUDAAPI (cu\w+)\(', text))
        for kind, name in re.findall(r'^#define cu\w+\s+(?:__CUDA_API_(PTDS|PTSZ)\()?(cu\w+)\)?$', text, re.M):
            names.update([name, name + '_' + kind.lower()] if kind else [name])
    return sorted(n for n in names if not n.startswith('cuWGL'))


@functools.lru_cache(None)
def current_names():
    """Returns {name in source: exported symbol} for programs built against this cuda.h, e.g. cuMemAlloc ->
    cuMemAlloc_v2."""
    hdr = parse('#include <cuda.h>\n')
    out = {}
    for name, body in hdr.macros.items():
        if not name.startswith('cu'):
            continue
        if len(body) == 4 and body[0] in ('__CUDA_API_PTDS', '__CUDA_API_PTSZ'):
            out[name] = body[2]
        elif len(body) == 1 and body[0].startswith('cu'):
            out[name] = body[0]
    return out


@functools.lru_cache(None)
def pfn_versions():
    """{base name (+ '_ptsz'/'_ptds'): [(CUDA version, exported symbol), ...] ascending}, from cuda*Typedefs.h.

    The headers name one function type per version; the n-th version of a name
    is the n-th symbol (cuX, cuX_v2, ...). A mismatch in number ends the program.
    """
    text = ''
    for header in ('cuda', 'cudaProfiler') + GRAPHICS:
        with open(os.path.join(_cuda_include(), header + 'Typedefs.h'), encoding='utf-8') as f:
            text += f.read()
    versions = {}
    for name, ver, suffix in re.findall(r'\(CUDAAPI \*PFN_(cu(?!WGL)\w+?)_v(\d+)(_pt[sd][sz])?\)', text):
        versions.setdefault((name, suffix), set()).add(int(ver))
    symbols = {}
    for symbol in [*driver().functions, *graphics_names()]:
        name, ver, suffix = re.fullmatch(r'(\w+?)(?:_v(\d+))?(_pt[sd][sz])?', symbol).groups('')
        symbols.setdefault((name, suffix), []).append((int(ver or 1), symbol))
    out = {}
    for (name, suffix), vers in sorted(versions.items()):
        syms = sorted(symbols.get((name, suffix), []))
        if len(syms) != len(vers):
            raise SystemExit(f'headers.py: {name}{suffix}: {len(vers)} versions, {len(syms)} symbols')
        out[name + suffix] = list(zip(sorted(vers), (s for _, s in syms)))
    return out
