# SPDX-License-Identifier: Apache-2.0
"""Devices in requests: the program's numbers become the worker's, and other tenants' devices are refused."""


def locations(d, ctype, way, first, count):
    """Returns statements that renumber the devices inside of `count` objects of a type."""
    return [line for offset in d.location_offsets(ctype)
            for line in (f'wh_locations_{way}({first},', f'\t\t{count}, sizeof({ctype.bare}), {offset});')]


def checks(d, call, local, count):
    """Returns statements that refuse devices of other tenants, in the places that the client renumbers."""
    out = []
    refuse = '\treturn CUDA_ERROR_INVALID_DEVICE;'
    for a in call.args if d.profile.driver else ():
        if a.kind == 'scalar' and a.type.bare == 'CUdevice':
            out += [f'if (wh_device_hidden(s, q->{a.name}))', refuse]
            continue
        ctype = a.type if a.kind == 'scalar' else a.object if a.kind in ('in', 'inout') else None
        first, n = (local(a), count(call, a)) if a.array else (f'&q->{a.name}', '1')
        given = '' if a.kind == 'scalar' else f'!(q->hdr.null & 1u << {a.index}) && '
        for offset in d.location_offsets(ctype) if ctype else ():
            out += [f'if ({given}wh_locations_hidden(s, {first},',
                    f'\t\t{n}, sizeof({ctype.bare}), {offset}))', refuse]
    return out
