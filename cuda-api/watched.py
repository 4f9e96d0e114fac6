# SPDX-License-Identifier: Apache-2.0
"""Writes the exported functions of libcuda.so.1 and libcudart, which tell a watcher of each call (api_call.h).

A library's own code has the functions under their names. The linker's names get a prefix then (objcopy), and what is
written here has the names of the exports. While nobody watches, an export is one comparison and one jump.
"""

import re

BASES = {
    # prefix of the library's own functions, flag, what tells the watcher, the api
    'driver': ('wh_plain_', 'wh_watched', 'wh_api_begin', 'wh_api_end', 'WH_API_DRIVER'),
    'runtime': ('rt_plain_', 'rt_watched', 'rt_api_begin', 'rt_api_end', 'WH_API_RUNTIME'),
}


def struct_of(symbol, func):
    """Returns the declaration of the struct with a function's arguments; '' if it has none."""
    if not func.params:
        return ''
    return f'struct params_{symbol} {{\n' + ''.join(f'\t{p.declare()};\n' for p in func.params) + '};\n\n'


def exported(base, symbol, func, name=None, major=0, kernel=''):
    """Returns the text for one function. `symbol` is its name in the objects, `name` what programs call it; `kernel` is
    an expression of `p`, its parameters, for what the program launches by."""
    prefix, flag, begin, end, api = BASES[base]
    name = name or symbol
    result = func.result.spelling
    args = ', '.join(p.name for p in func.params)
    text = struct_of(symbol, func)
    text += 'OWN ' + func.prototype(prefix + symbol) + ';\n\n'
    if kernel:
        text += (f'static const void *kernel_of_{symbol}(const void *params)\n{{\n'
                 f'\tconst struct params_{symbol} *p = params;\n\n\treturn {kernel};\n}}\n\n')
    text += 'static WATCHED ' + func.prototype('watched_' + symbol) + '\n{\n'
    text += f'\tstatic struct wh_api_function of_ = {{\n\t\t.name = "{name}", .api = {api},'
    text += f' .major = {major},' if major else ''
    text += f'\n\t\t.kernel = kernel_of_{symbol}, .kernel_name = rt_kernel_name,' if kernel else ''
    text += '\n\t};\n'
    if func.params:
        text += f'\tconst struct params_{symbol} params_ = {{ {args} }};\n'
    text += f'\t{result} res_ = 0;\n'
    params = ' .params = &params_,' if func.params else ''
    text += f'\tstruct wh_api_call call_ = {{ .of = &of_,{params} .result = (int *)&res_ }};\n\n'
    text += f'\t{begin}(&call_);\n\tres_ = {prefix}{symbol}({args});\n\t{end}(&call_);\n\treturn res_;\n}}\n\n'
    text += func.prototype(symbol) + f'\n{{\n\tif (WH_UNLIKELY({flag}))\n\t\treturn watched_{symbol}({args});\n'
    text += f'\treturn {prefix}{symbol}({args});\n}}\n\n'
    return text


def file(base, banner, include, functions):
    """Returns the text of a file with these functions: for each a dictionary of exported()'s arguments, and whether it
    has to be declared, because no header does."""
    text = (banner + f'#include "{include}"\n#include "api_call.h"\n\n'
            '#define WATCHED\t__attribute__((noinline, cold))\n'
            '#define OWN\t__attribute__((visibility("hidden")))\n\n')
    for f in functions:
        words = dict(f)
        if words.pop('declare'):
            text += f['func'].prototype(f['symbol']) + ';\n\n'
        text += exported(base, **words)
    return text


def names(base, functions):
    """Returns the list for objcopy --redefine-syms."""
    return ''.join(f"{f['symbol']} {BASES[base][0]}{f['symbol']}\n" for f in functions)


def of_driver(api):
    """Returns what file() needs of each export of libcuda.so.1."""
    return [{'symbol': c.name, 'func': c.func, 'declare': False}
            for c in sorted(api.calls.values(), key=lambda c: c.name) if c.func and c.name.startswith('cu')]


def entry_points(banner, versions):
    """Returns the table of the exports that cuGetProcAddress() knows, of headers.pfn_versions()."""
    text = (banner + '/* Sorted by name, then per-thread variants last, then version. */\n'
            'const struct wh_entry_point wh_entry_points[] = {\n')
    rows = []
    for name, of_name in versions.items():
        m = re.match(r'(.*?)(_pt[sd][sz])?$', name)
        for version, symbol in of_name:
            rows.append((m.group(1), 1 if m.group(2) else 0, version, symbol))
    for base, pt, version, symbol in sorted(rows):
        text += f'\t{{ "{base}", {version}, {pt}, (void *){symbol} }},\n'
    return text + '};\n'
