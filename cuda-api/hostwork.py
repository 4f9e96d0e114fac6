# SPDX-License-Identifier: Apache-2.0
"""The kind `hostwork[size]`: a workspace in host memory, of `size` bytes.

The client only says whether there is one: the worker has its own workspace for the call. A library writes to it with
the worker's rights, so the client's size for it cannot be trusted. The worker asks the library for the needed size, by
the function's _bufferSize, whose parameters have the same names. The worker neither allocates nor tells the library
more than that.

`hostwork[size:FUNCTION]`: the same if the call has no such parameter; FUNCTION says `size`. `hostwork[=CALL]`: the
workspace that a function of the worker returns, NULL if there is no memory; it stays that function's.
"""

END = 'wh_library_host_work_end(s);'


def variables(a, name):
    return [('void *', name + ' = NULL')] + [('size_t', name + '_needs = 0')] * (not kept(a))


def kept(a):
    return a.count.startswith('=')


def end(a):
    return [] if kept(a) else [END]


def prepare(d, call, a, name, server_arg):
    """Returns statements of the worker that come after the checks of all other parameters."""
    errors = d.profile.errors
    if kept(a):
        return [f'{name} = {a.count[1:]};', f'if (!{name})', f"\treturn {errors['memory']};"]
    size, _, ask = a.count.partition(':')
    sized, ask = not ask, ask or call.name + '_bufferSize'
    if ask not in d.header.functions:
        raise SystemExit(f'hostwork.py: {call.name}: there is no {ask}')
    ours, args = {x.name: x for x in call.args}, []
    for p in d.header.functions[ask].params:
        x = ours.get(p.name, ours.get(p.name + '_'))
        if p.type.kind == 'pointer' and (x is None or x.kind == 'scalar'):
            args.append(f'&{name}_needs' if p.name == size else f'&({p.type.pointee.bare}) {{ 0 }}')
        elif x is None:
            raise SystemExit(f'hostwork.py: {call.name}: {ask} has {p.name} besides')
        else:
            args.append(server_arg(d, call, x))
    if f'&{name}_needs' not in args:
        raise SystemExit(f'hostwork.py: {call.name}: {ask} does not say {size}')
    joined = ',\n\t\t'.join(args)
    small = f'q->{size} < {name}_needs || ' if sized else ''
    return [f'if (!l->{ask})', f"\treturn wh_library_missing(s, \"{ask}\", {errors['missing']});",
            f'res = l->{ask}({joined});', f'if (res != {d.profile.success})', '\treturn res;',
            f'if ({small}(q->hdr.null & 1u << {a.index} && {name}_needs))',
            f"\treturn {errors['value']};",
            f'if (!wh_library_host_work(s, {name}_needs, &{name}))', f"\treturn {errors['memory']};"
            ] + [f'q->{size} = {name}_needs;'] * sized
