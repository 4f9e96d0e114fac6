# SPDX-License-Identifier: Apache-2.0
"""Reads the description of one API: cuda.api joined with the prototypes of cuda.h, or cublas.api with those of
cublas_v2.h, and so on.

Owns the rules by which a parameter gets its kind; writes no code. Every exported function becomes one Call with a
verb and a kind for each parameter, and every call of the driver gets its effects (effects.py). What a library's
file says about the library itself becomes a Profile.
"""

import fnmatch
import os
import re
import shlex
from dataclasses import dataclass, field, replace

import effects
import headers
import kept
import life
import table
import told
from heads import head_line, Profile

VERBS = ('generated', 'table', life.VERB, life.SETTING, 'client', 'manual', 'local', 'refuse', 'deny', 'absent')
FLAGS = ('after', 'done', 'check', 'drops', 'answer', 'idle', 'bound', 'post', 'forgets', 'keeps', 'long', 'steps',
         'makes', 'same')
# Flags with arguments, and how many they have: +charge[key,bytes] and so on.
HOOKS = {'charge': (2, 3), 'uncharge': (1, 2), 'pool': (3, 3), 'reconcile': (1, 1), 'exec': (1, 1),
         'context': (2, 2), 'launch': (0, 1), 'sent': (1, 1), 'fetched': (1, 1), 'moved': (3, 3),
         'box': (1, 1), 'runs': (1, 1), 'needs': (2, 2), 'retains': (2, 2), 'instead': (1, 9),
         'then': (1, 9), 'checked': (1, 1), 'given': (0, 9), 'reaches': (2, 3), 'frees': (1, 1),
         'each': (3, 3), 'effect': (1, 9), 'alters': (1, 9), 'leaves': (1, 9),
         'steps': (1, 2), 'trace': (1, 2)}
HOOK = re.compile(r'^\+(\w+)(?:\[(.*)\])?$')
KINDS = {'in', 'out', 'inout', 'str', 'cstr', 'addrout', 'raw', 'rawout', 'host', 'null', 'versioned',
         'device', 'key', 'kernels', 'hostwork', 'fresh'}
# Types of numbers that are addresses of the worker's process, and what a description may say of one.
ADDRESSES = ('CUdeviceptr', 'CUdeviceptr_v1')
REACHES = ('device', 'key', 'kernels')
KIND = re.compile(r'^(\w+)(@mode)?(?:\[(.+)\])?$')
# These functions answer handles of new objects; all others answer handles of known ones.
FRESH = re.compile(r'[Cc]reate|Load|Instantiate|GraphClone|GraphAdd|IpcOpen')
# These functions may answer one more name of a known object.
AGAIN = re.compile(r'ImportFrom')
DROPS = re.compile(r'[Dd]estroy|Unload$|^cuMemRelease$')


# Variables of the generated functions; a library's parameter of such a name gets another one.
LOCALS = ('c', 'f', 'l', 'q', 'r', 'res', 's')
# A request has so many null bits.
MAX_PARAMETERS = 32
NULLABLE = ('in', 'out', 'inout', 'cstr', 'addrout', 'given', 'hostwork')


def holds_address(ctype):
    """Is there a number in the type that is an address?"""
    if ctype.bare in ADDRESSES:
        return True
    if ctype.kind == 'array':
        return holds_address(ctype.pointee)
    return ctype.kind in ('record', 'union') and any(holds_address(f.type) for f in ctype.fields)


class Problem(Exception):
    """A prototype cannot be generated as described."""


@dataclass
class Arg:
    """One parameter: its declaration and the form in which it is sent."""
    name: str
    type: headers.Type
    kind: str            # scalar handle value object whole opaque fresh addr addrout host hostwork str cstr
                         # in out inout
    count: str = ''      # C expression over parameters, or '*name'
    raw: bool = False
    index: int = 0
    mode: bool = False   # in host or device memory, as the object's pointer mode says
    given: str = ''      # kind 'given': the library's name for it
    sized: bool = False  # a struct whose first field says its size
    reach: str = ''      # for an address: one of REACHES
    bytes: str = ''      # with 'device': the number of bytes, a C expression

    @property
    def object(self):
        """The type that a pointer parameter points to ('void' counts as bytes)."""
        return self.type.pointee

    @property
    def array(self):
        return bool(self.count) and not self.mode


@dataclass
class Call:
    name: str
    func: headers.Function = None
    verb: str = 'generated'
    reason: str = ''
    args: list = field(default_factory=list)
    flags: set = field(default_factory=set)
    hooks: dict = field(default_factory=dict)
    effects: list = field(default_factory=list)  # words of effects.py
    order: dict = None   # role -> parameter (told.py); None: behind all calls
    number: int = -1
    base: str = ''       # for _ptsz and _ptds: the function they follow
    suffix: str = ''

    @property
    def forwarded(self):
        """Does the worker have a generated handler for it?"""
        return self.verb in ('generated', 'client')

    @property
    def numbered(self):
        return self.forwarded or self.verb in ('manual', 'table', life.VERB)

    @property
    def fresh(self):
        return bool(FRESH.search(self.name))

    @property
    def drops(self):
        return 'drops' in self.flags or bool(DROPS.search(self.name))


@dataclass
class Api:
    calls: dict
    handles: list        # handle types, in order of first use
    values: list
    records: list        # records translated by hand
    header: headers.Header
    private: list = field(default_factory=list)  # exported for our other libraries only


def kind_of(text, profile):
    """Returns the match of a kind that this description knows, or None."""
    m = KIND.match(text)
    return m if m and (m.group(1) in KINDS or m.group(1) in profile.kinds) else None


def _split(text):
    """Splits arguments at the commas that are outside of parentheses."""
    out, depth, start = [], 0, 0
    text = text.strip()
    for i, c in enumerate(text):
        depth += (c == '(') - (c == ')')
        if c == ',' and depth == 0:
            out.append(text[start:i])
            start = i + 1
    return out + [text[start:]] if text else []


def _is_hook(word):
    m = HOOK.match(word)
    if not m or m.group(1) not in HOOKS:
        return False
    low, high = HOOKS[m.group(1)]
    return low <= len(_split(m.group(2) or '')) <= high


def _parse_line(text, where, profile):
    words = shlex.split(text)
    entry = {'verb': 'generated', 'reason': '', 'kinds': {}, 'flags': set(), 'hooks': {}}
    name, rest = words[0], words[1:]
    if rest and rest[0] in VERBS[1:] and rest[0] not in (life.VERB, life.SETTING):
        if len(rest) < 2:
            raise SystemExit(f'{where}: {rest[0]} needs a reason')
        entry['verb'], entry['reason'], rest = rest[0], rest[1], rest[2:]
    for word in rest:
        if word[0] == '+' and word[1:] in FLAGS:
            entry['flags'].add(word[1:])
        elif _is_hook(word):
            m = HOOK.match(word)
            arguments = _split(m.group(2) or '')
            # There may be several checks.
            before = entry['hooks'].get('checked', []) if m.group(1) == 'checked' else []
            entry['hooks'][m.group(1)] = before + arguments
        elif '=' in word and kind_of(word.split('=', 1)[1], profile):
            param, kind = word.split('=', 1)
            entry['kinds'][param] = kind
        else:
            raise SystemExit(f'{where}: cannot read "{word}"')
    return name, entry


def _head_line(profile, lists, words, where):
    """Reads one line about the library itself. False: it is a function's line."""
    word, rest = words[0], words[1:]
    if head_line(profile, words):
        return True
    if word == 'effect' and profile.driver and len(rest) > 1:
        lists['effect'].append((_split(rest[0]), rest[1:], where))
    elif word == 'order' and profile.driver and len(rest) > 1:
        lists['order'].append((_split(rest[0]), rest[1:], where))
    elif word == 'alias':
        lists['alias'][rest[0]] = rest[1]
    elif word == 'names' and rest and rest[0] in ('any', 'made', 'by') and len(rest) > 1 + (rest[0] == 'by'):
        how, types = (rest[1], rest[2:]) if rest[0] == 'by' else (rest[0], rest[1:])
        for name in types:
            if lists['names'].setdefault(name, how) != how:
                raise SystemExit(f'{where}: {name} has two lines that say what answers name')
    elif word == 'param':
        lists['param'][rest[0]] = rest[1]
    elif word in ('pointers', 'voids'):
        lists[word] = rest[0]
    elif word in ('life', 'stream', 'setting'):
        if not life.head_line(lists['life'], word, rest):
            raise SystemExit(f'{where}: cannot read this line "{word}"')
    elif word in ('handle', 'value', 'number', 'record', 'checked', 'object', 'whole', 'opaque', 'kept', 'holds',
                  'private', 'worker'):
        lists[word].append(rest[0])
        if word == 'object':
            profile.moves[rest[0]] = rest[1:]
        if word == 'opaque' and rest[1:] == ['follows']:
            profile.follows.append(rest[0])
        if word == 'kept':
            profile.keeps[rest[0]] = rest[1:]
    else:
        return False
    if word in ('param', 'pointers', 'voids') and not kind_of(rest[-1], profile):
        raise SystemExit(f'{where}: cannot read "{rest[-1]}"')
    return True


def _read(path):
    lists = {'handle': [], 'value': [], 'number': [], 'names': {},
             'record': [], 'checked': [], 'object': [], 'whole': [], 'opaque': [],
             'kept': [], 'holds': [], 'private': [], 'worker': [], 'alias': {}, 'param': {}, 'effect': [], 'order': [],
             'life': {}, 'pointers': '', 'voids': ''}
    exact, patterns, profile = {}, [], Profile()
    with open(path, encoding='utf-8') as f:
        for i, line in enumerate(f, 1):
            where = f'{path}:{i}'
            line = line.strip()
            if not line or line[0] == '#':
                continue
            if _head_line(profile, lists, line.split(), where):
                continue
            name, entry = _parse_line(line, where, profile)
            entry['where'] = where
            if 'effect' in entry['hooks'] and ('*' in name or not profile.driver):
                raise SystemExit(f'{where}: {name}: only a call of the driver states an effect, each for itself')
            if '*' in name or '?' in name:
                patterns.append((name, entry))
            elif name in exact:
                raise SystemExit(f'{where}: {name} is described twice')
            else:
                exact[name] = entry
    return lists, exact, patterns, profile


def driver_header():
    """Returns what cuda.h declares, and the functions for graphics. These are refused, so that their names will do."""
    header = headers.driver()
    result = header.functions['cuInit'].result
    graphics = {name: headers.Function(name, result, []) for name in headers.graphics_names()}
    return replace(header, functions=header.functions | graphics)


def library_header(profile):
    """Reads the library's own declarations, as C++, which has more of them (those with __half)."""
    extra = os.environ.get('LIB_INC') or headers.build_folder() + '/headers'
    prefixes = tuple(profile.prefix.split('|'))
    return headers.parse(profile.source, keep=lambda name: name.startswith(prefixes), cplusplus=True,
                         includes=[extra, os.path.dirname(os.path.abspath(__file__))])


class Describer:
    def __init__(self, path):
        self.lists, self.exact, self.patterns, self.profile = _read(path)
        self.header = driver_header() if self.profile.driver else library_header(self.profile)
        self.path = path
        self.handles = []
        life.check(path, self.lists['life'], self.lists['object'], self.header.functions)
        self.lives = life.verbs(self.lists['life'])
        twice = sorted(set(self.lives) & set(self.exact))
        if twice:
            raise SystemExit(f'{path}: {twice[0]} is described twice')

    def _entry(self, name):
        if name in self.exact:
            return self.exact[name]
        # This is the same function with 64-bit counts.
        if name.endswith('_64') and name[:-3] in self.header.functions:
            return self._entry(name[:-3])
        for pattern, entry in self.patterns:
            if fnmatch.fnmatchcase(name, pattern):
                return entry
        return {'verb': 'generated', 'reason': '', 'kinds': {}, 'flags': set(), 'hooks': {}, 'where': self.path}

    def listed(self, line, ctype):
        """Returns the type's name in the lines `kept` or `holds`, or None."""
        if ctype is None or ctype.kind == 'pointer':
            return None
        name = self.lists['alias'].get(ctype.bare, ctype.bare)
        return name if name in self.lists[line] else None

    def first_listed(self, line, call):
        """Returns a call's first parameter of such a type, or None."""
        return next((a for a in call.args if self.listed(line, a.object if a.kind == 'out' else a.type)), None)

    def handle_name(self, ctype):
        """Returns the handle type's own name, or None. Notes a handle type when it is first seen."""
        bare = ctype.bare
        if bare in self.lists['alias']:
            return self.lists['alias'][bare]
        if bare in self.lists['object'] or bare in self.lists['value'] or bare in self.lists['whole']:
            return None
        if ctype.kind == 'handle' or bare in self.lists['handle']:
            if bare not in self.handles:
                self.handles.append(bare)
            return bare
        return None

    def is_stream(self, ctype):
        return self.handle_name(ctype) == 'CUstream'

    def is_object(self, ctype):
        return ctype.bare in self.lists['object']

    def is_value(self, ctype):
        return ctype.bare in self.lists['value']

    def custom(self, ctype):
        return ctype.bare in self.lists['record']

    def checked(self, ctype):
        return ctype.bare in self.lists['checked']

    def record_handles(self, ctype, prefix=''):
        """Returns the paths of handle fields inside a flat record. A union that has some is a Problem."""
        found = []
        for f in ctype.fields:
            path = prefix + f.name
            if self.handle_name(f.type):
                found.append((path, f.type))
            elif f.type.kind == 'record':
                found += self.record_handles(f.type, path + '.')
            elif f.type.kind == 'array' and f.type.pointee.has_pointer(handles=True):
                raise Problem(f'{path} is an array of handles or addresses')
            elif self._looks_like_handle(f.type):
                raise Problem(f'{path} may be a handle: say what {f.type.bare} is (handle, value or number)')
            elif f.type.kind == 'union' and f.type.has_pointer(handles=True):
                raise Problem(f'{path} is a union of handles or addresses')
        return found

    def _looks_like_handle(self, ctype):
        """Is it a number with a name of the API's own, and does no line say what it is?"""
        return (ctype.kind == 'int' and re.match(r'CU|cu[a-z]+_?Handle', ctype.bare) is not None and
                ctype.bare not in ADDRESSES + ('CUdevice',) and not self.is_value(ctype) and
                ctype.bare not in self.lists['handle'] + self.lists['number'])

    def location_offsets(self, ctype):
        """Returns C expressions for the offsets of the CUmemLocations in a type."""
        if ctype.bare == 'CUmemLocation':
            return ['0']
        found = []
        for f in ctype.fields if ctype.kind == 'record' else []:
            here = f'offsetof({ctype.bare}, {f.name})'
            found += [here if x == '0' else f'{here} + {x}' for x in self.location_offsets(f.type)]
        return found

    def _check_object(self, arg, call):
        obj = arg.object
        if self.handle_name(obj):
            return
        if arg.kind != 'in' and self._looks_like_handle(obj):
            raise Problem(f'{arg.name} may be a handle: say what {obj.bare} is (handle, value or number)')
        if arg.raw and arg.kind == 'out' and obj.kind == 'union' and 'check' not in call.flags:
            raise Problem(f'{arg.name} may come back with a handle inside, and nothing checks it')
        if obj.kind == 'void':
            if not arg.array:
                raise Problem(f'{arg.name} needs a size')
        elif obj.kind in ('record', 'union') and not arg.raw and not self.custom(obj):
            inside = obj.has_pointer() or (arg.kind != 'out' and holds_address(obj))
            if inside and (arg.kind == 'out' or not self.checked(obj)):
                raise Problem(f'{arg.name} is a struct with addresses inside')
            if obj.kind == 'union' and obj.has_pointer(handles=True):
                raise Problem(f'{arg.name} is a union of handles')
            self.record_handles(obj)
        elif obj.kind in ('pointer', 'function'):
            raise Problem(f'{arg.name} is a pointer to a pointer')
        elif obj.bare in ADDRESSES and arg.kind != 'out' and call.hooks.get('each', [''])[0] != arg.name:
            raise Problem(f'{arg.name} is an array of addresses that nothing checks')

    def _says_its_size(self, ctype):
        return ('version' in self.profile.errors and ctype.kind == 'record' and ctype.fields and
                ctype.fields[0].name == 'version' and not ctype.has_pointer(handles=True))

    def _sized(self, p, index):
        """Copies the bytes in and, unless the struct is const, out. Both ends compare the size with the first field."""
        kind = 'in' if p.type.pointee.const else 'inout'
        return Arg(p.name, p.type, kind, f'?wh_versioned_size({p.name})', index=index, sized=True)

    def _default(self, p):
        t = p.type
        if self.is_object(t):
            return 'object'
        if t.bare in self.lists['whole']:
            return 'whole'
        if self.handle_name(t):
            return 'handle'
        if self.is_value(t):
            return 'value'
        if t.kind in ('int', 'enum', 'float', 'record'):
            if t.has_pointer() or holds_address(t):
                raise Problem(f'{p.name} is or holds an address, and no kind says who follows it')
            return 'scalar'
        if t.kind not in ('pointer', 'array'):
            raise Problem(f'{p.name} is a {t.kind}')
        to = t.pointee
        if to.bare in self.lists['opaque']:
            return 'opaque'
        # No device has these: a handle, or a choice of the API's.
        if not to.const and (self.handle_name(to) or to.kind == 'enum'):
            return 'out'
        if self.lists['pointers']:
            return self.lists['pointers']
        if to.kind == 'void' and self.lists['voids']:
            return self.lists['voids']
        if self._says_its_size(to):
            return 'versioned'
        if to.kind == 'int' and to.size == 1:
            if to.const:
                return 'str'
            raise Problem(f'{p.name} is a buffer of unknown size')
        if to.kind == 'void':
            raise Problem(f'{p.name} is void *')
        return 'in' if to.const else 'out'

    def _address(self, p, index, reach, extent):
        number = p.type.kind == 'int'
        if number and p.type.bare not in ADDRESSES:
            raise Problem(f'{p.name} is no address')
        if reach == 'device' and number and not extent:
            raise Problem(f'{p.name} needs the number of bytes that it reaches')
        return Arg(p.name, p.type, 'scalar' if number else 'addr', index=index, reach=reach, bytes=extent)

    def _arg(self, call, p, index, kinds):
        text = kinds.get(p.name)
        if not text and p.type.kind in ('pointer', 'array'):
            text = self.lists['param'].get(p.name)
        if not text:
            kind = self._default(p)
            if kind in REACHES:
                return self._address(p, index, kind, '')
            arg = Arg(p.name, p.type, kind, index=index)
        else:
            m = kind_of(text, self.profile)
            if m.group(1) in REACHES:
                return self._address(p, index, m.group(1), m.group(3) or '')
            if m.group(1) in self.profile.kinds:
                return Arg(p.name, p.type, 'given', m.group(3), index=index, given=m.group(1))
            kind = {'raw': 'in', 'rawout': 'out'}.get(m.group(1), m.group(1))
            if m.group(1) == 'raw' and not p.type.pointee.const:
                kind = 'out'
            arg = Arg(p.name, p.type, kind, m.group(3) or '', m.group(1).startswith('raw'), index,
                      bool(m.group(2)))
        if arg.kind == 'versioned':
            return self._sized(p, index)
        if arg.mode:
            if arg.object.kind == 'void' and not arg.count:
                raise Problem(f'{arg.name} needs the size of its type')
        elif arg.kind in ('in', 'out', 'inout'):
            self._check_object(arg, call)
        return arg

    def _describe(self, call, entry):
        unknown = set(entry['kinds']) - {p.name for p in call.func.params}
        if unknown and call.name in self.exact:
            raise SystemExit(f"{entry['where']}: {call.name} has no parameter {sorted(unknown)[0]}")
        if not self.profile.driver:
            call.func = headers.Function(call.func.name, call.func.result, [
                headers.Param(p.name + '_' if p.name in LOCALS else p.name, p.type) for p in call.func.params])
            entry = dict(entry, kinds={k + '_' if k in LOCALS else k: v for k, v in entry['kinds'].items()})
        for i, p in enumerate(call.func.params):
            call.args.append(self._arg(call, p, i, entry['kinds']))
        if any(a.index >= MAX_PARAMETERS and a.kind in NULLABLE for a in call.args):
            raise Problem('more parameters than the null bits of a request')
        kept.check(self, call, entry['where'])

    def _call(self, name, func):
        if name in self.lives:
            return Call(name, func, *self.lives[name])
        entry = self._entry(name)
        call = Call(name, func, entry['verb'], entry['reason'], flags=set(entry['flags']),
                    hooks=dict(entry['hooks']))
        m = re.match(r'(.*)_(ptsz|ptds)$', name)
        if m and self.profile.driver:
            call.base, call.suffix = m.group(1), m.group(2)
            return call
        if call.forwarded:
            try:
                self._describe(call, entry)
            except Problem as e:
                raise SystemExit(f'{self.path}: {name} cannot be generated: {e}. Give it a line.') from None
        return call

    def _all_named(self):
        """Checks that no handle leaves the worker as it is: a line for each type says what an answer may name."""
        bare = sorted(set(self.handles) - set(self.lists['names']) - set(self.lists['alias'].values()))
        if bare:
            raise SystemExit(f'{self.path}: {", ".join(bare)}: a handle without a translation: say by a line '
                             '"names any", "names made" or "names by FUNCTION" what answers may name')
        unknown = sorted(set(self.lists['names']) - set(self.handles))
        if unknown:
            raise SystemExit(f'{self.path}: names: {", ".join(unknown)}: no call has such a handle')

    def api(self):
        if self.profile.parts:
            return table.api(self)
        calls = {}
        for name, entry in self.exact.items():
            if name.startswith('wh'):
                calls[name] = Call(name, None, entry['verb'], entry['reason'], hooks=dict(entry['hooks']))
            elif name not in self.header.functions:
                raise SystemExit(f"{entry['where']}: the header has no {name}")
        for name, func in self.header.functions.items():
            calls[name] = self._call(name, func)
        for call in calls.values():
            if call.suffix:
                base = calls[call.base]
                call.verb = 'refuse' if base.verb == 'refuse' else 'generated'
                call.reason = base.reason if base.verb == 'refuse' else ''
        if self.profile.driver:
            effects.state(self.path, calls, self.exact, self.lists['effect'])
            told.state_order(calls, self.lists['order'])
            for call in calls.values():
                told.check_trace(call, self.path)
        for h in ('CUfunction', 'CUkernel', 'CUlibrary', 'CUmodule', 'CUevent', 'CUstream', 'CUcontext',
                  'CUlinkState', 'CUmemoryPool', 'CUgraph', 'CUgraphNode') if self.profile.driver else ():
            if h not in self.handles:
                self.handles.append(h)
        self._all_named()
        return Api(calls, sorted(self.handles), self.lists['value'], self.lists['record'], self.header,
                   self.lists['private'])
