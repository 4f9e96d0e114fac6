# SPDX-License-Identifier: Apache-2.0
"""Code for what answers name: handles of the driver and of libraries become the client's by the lines `names`, and
structs by the worker's own code."""


def put(d, a):
    """Returns the function by which a handle in an answer becomes the client's. For the driver's types
    wh_shown() decides."""
    name = d.handle_name(a.object) if a.type.kind in ('pointer', 'array') else None
    made = name and not d.profile.driver and d.lists['names'].get(name) == 'made'
    return 'wh_handle_for_made' if made else 'wh_handle_for'


# These belong to a device or the process: they live on when the context ends that was current.
WHOLE_DEVICE = ('CUcontext', 'CUmemoryPool', 'CUmemGenericAllocationHandle')


def owner_of(d, call, made=None):
    """Returns the handle whose end also ends what the call returns, if that has the type `made`."""
    if not d.profile.driver or made in WHOLE_DEVICE:
        return '0'
    # An object that is made from a graph lives without it.
    if made == 'CUgraphExec' or call.name == 'cuGraphClone' or call.name.startswith('cuGraphInstantiate'):
        return 'q->hdr.ctx'
    for a in call.args:
        if a.kind == 'handle' and a.type.bare in ('CUmodule', 'CUlibrary', 'CUkernel', 'CUgraph', 'CUgraphNode',
                                                  'CUmipmappedArray', 'CUarray', 'CUgreenCtx'):
            return f'q->{a.name}'
    return 'q->hdr.ctx'


def owner_of_value(made):
    """Returns the same for a number of the driver that is no handle."""
    return '0' if made in WHOLE_DEVICE else 'q->hdr.ctx'


def records_each(n, a, function, count, check):
    """Returns statements that translate each struct of an array by the worker's own code (records.c)."""
    each = f'{function}_{a.object.bare}(s, &{n}[i])'
    lines = [f'\tres = {each};', '\tif (res != CUDA_SUCCESS)', '\t\treturn res;'] if check else [f'\t{each};']
    return [f'for (size_t i = 0; {n} && i < {count}; i++)' + (' {' if check else '')] + lines + (['}'] if check else [])


def shown(d, api):
    """Returns the one function that turns what the driver answers into what a client may name."""
    how = d.lists['names']
    text = 'void *wh_shown(struct wh_session *s, unsigned int type, void *real)\n{\n\tswitch (type) {\n'
    for h in api.handles:
        if how[h] not in ('any', 'made'):
            text += f'\tcase WH_H_{h}:\n\t\treturn {how[h]}(s, real);\n'
    made = [h for h in api.handles if how[h] == 'made']
    text += ''.join(f'\tcase WH_H_{h}:\n' for h in made)
    text += '\t\treturn wh_handles_find(&s->handles, real, type) ? real : NULL;\n' if made else ''
    return text + '\t}\n\treturn real;\n}\n\n'
