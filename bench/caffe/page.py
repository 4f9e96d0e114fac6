#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes bench/RESULTS-caffe.md and its picture of what bench/caffe.sh measured on a GPU, and of
what it counted in the emulated VMX host.

    bench/caffe/page.py FILE...    the files that --json wrote: their parts are put together

OUT is another folder than bench/ to write into.
"""
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.dirname(HERE)
sys.path[:0] = [HERE, BENCH]
sys.dont_write_bytecode = True
import nets  # noqa: E402
from draw import draw as draw_picture  # noqa: E402

OUT = os.environ.get('OUT', BENCH)
PAGE = os.path.join(OUT, 'RESULTS-caffe.md')
PICTURE = os.path.join(OUT, 'plots', 'caffe.svg')
HEAD = '''<!-- SPDX-License-Identifier: Apache-2.0 -->
# Caffe

`bench/caffe.sh CAFFE=FOLDER --json FILE` measured this, and `bench/caffe/page.py FILE` writes the page
([how](README.md#caffe)). Nothing here gates a test.

'''
EMULATED = '''## In a client VM over vmfunc

`bench/caffe.sh CAFFE=FOLDER --backend softgpu --parts vmfunc --json FILE` counted this in the emulated VMX host, whose
times mean nothing. Exits by `external_interrupt` and `preemption_timer` are of interrupts and timers, which the host
has whatever a call does. A request that finds another thread's call alone in the worker enters again, which is a call
more.

'''


def together(a, b):
    """Adds up the tests of two calls."""
    if 'error' in a or 'error' in b:
        sys.exit('error: the tests of a file did not run: ' + a.get('error', b.get('error', '')))
    return {**{k: a[k] + b[k] for k in ('groups', 'cases', 'passed_natively', 'passed_forwarded', 'not_equal')},
            'counts': {v: a['counts'][v] + b['counts'][v] for v in a['counts']}, 'ok': a['ok'] and b['ok']}


def read(files):
    """Returns the data of a GPU, and a list of those of the emulated host."""
    data, emulated = {}, []
    for name in files:
        with open(name) as f:
            got = json.load(f)
        if set(got) == {'about', 'vmfunc'}:
            emulated.append(got)
            continue
        if got['about']['backend'] != 'driver':
            sys.exit(f'error: {name} is not of a GPU')
        for part, value in got.items():
            data[part] = together(data[part], value) if part == 'tests' and part in data else value
    return data, emulated


def draw(layers):
    """Draws the time over shm as a multiple of the native one, for each layer and direction. Returns
    the line of the page that shows it."""
    if not shutil.which('gnuplot'):
        return 'No picture: gnuplot is not installed (Debian package gnuplot-nox).\n'
    os.makedirs(os.path.dirname(PICTURE), exist_ok=True)
    by = {(x['layer'], x['pass_']): x['shm'] / x['native'] for x in layers if x['native']}
    with tempfile.NamedTemporaryFile('w', suffix='.dat') as f:
        f.write('layer forward backward\n')
        for layer in dict.fromkeys(x['layer'] for x in layers):
            # The data are no layer of the device.
            if layer != 'data':
                f.write(f'"{layer}" ' + ' '.join(f'{by.get((layer, d), "-")}' for d in nets.PASSES) + '\n')
        f.flush()
        draw_picture(os.path.join(HERE, 'layers.gp'), PICTURE, dat=f.name, plots=os.path.join(BENCH, 'plots'))
    return "![The time of AlexNet's layers over shm, as a multiple of the native one](plots/caffe.svg)\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    data, emulated = read(sys.argv[1:])
    text = HEAD + (nets.report(data) if data else '')
    if 'layers' in data.get('alexnet', {}):
        text += draw(data['alexnet']['layers'])
    if emulated:
        text = text.rstrip('\n') + '\n\n' + EMULATED + ''.join(nets.report(one) for one in emulated)
    with open(PAGE, 'w') as f:
        f.write(text.rstrip('\n') + '\n')


main()
