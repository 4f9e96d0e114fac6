# SPDX-License-Identifier: Apache-2.0
"""What caffe.py makes of Caffe's texts: its networks before a run, its output after one."""
import re
import statistics

LENET = 'examples/mnist/lenet_train_test.prototxt'
LENET_SOLVER = 'examples/mnist/lenet_solver.prototxt'
ALEXNET = 'models/bvlc_alexnet/train_val.prototxt'
TEST_BATCH = 100  # images of LeNet's network in a test
SIDE = 227        # of AlexNet's images
PASSES = 'forward', 'backward'
# A number at random that both ways begin with.
SEED = 1


def without(text, *keys):
    """Leaves out the lines of a text in which these keys stand, and comments."""
    lines = (line for line in text.splitlines() if not line.startswith('#'))
    return ''.join(line + '\n' for line in lines if line.partition(':')[0].strip() not in keys)


def solver(text, name, iterations, digits, reduced):
    """Returns Caffe's solver of LeNet with the iterations, a fixed beginning, and weights at the end
    in the file NAME_iter_ITERATIONS.caffemodel. A reduced one tests with one batch."""
    text = without(text, 'max_iter', 'snapshot', 'snapshot_prefix', 'random_seed', 'test_iter', 'display')
    return text + (f'max_iter: {iterations}\nsnapshot_prefix: "{name}"\nrandom_seed: {SEED}\n'
                   f'test_iter: {1 if reduced else digits // TEST_BATCH}\n'
                   f'display: {max(1, min(100, iterations // 10))}\n')


def batch(text):
    """Returns how many images at a time a network trains with."""
    return int(re.search(r'batch_size: *(\d+)', text)[1])


def with_batch(text, images):
    """Returns a network that trains with so many images at a time, and tests with as many more as before."""
    whole = batch(text)
    return re.sub(r'(batch_size: *)(\d+)', lambda m: m[1] + str(max(1, int(m[2]) * images // whole)), text)


def blocks(text):
    """Yields the layers of a network, and what stands between them."""
    begin = depth = 0
    for brace in re.finditer(r'[{}]', text):
        depth += 1 if brace[0] == '{' else -1
        if depth == 0:
            yield text[begin:brace.end()]
            begin = brace.end()
    yield text[begin:]


def with_constant_data(text, batch):
    """Returns a network whose data are a constant in the place of those of a file."""
    rest = [b for b in blocks(text) if not re.search(r'type: "Data"', b)]
    data = ('layer {\n  name: "data"\n  type: "DummyData"\n  top: "data"\n  top: "label"\n  dummy_data_param {\n'
            f'    shape {{ dim: {batch} dim: 3 dim: {SIDE} dim: {SIDE} }}\n    shape {{ dim: {batch} }}\n'
            '    data_filler { type: "constant" value: 0.5 }\n    data_filler { type: "constant" value: 7 }\n  }\n}\n')
    return data + ''.join(rest)


def training(said):
    """Returns what a training says of losses, in order, and its iterations per second."""
    lines, rates = [], []
    for line in said.splitlines():
        m = re.search(r'\] +(Iteration \d+)( \(([-+.e\d]+) iter/s[^)]*\))?, (loss = \S+|Testing net.*)', line)
        if m:
            lines.append(f'{m[1]}, {m[4]}')
            if m[3]:
                rates.append(float(m[3]))
        m = re.search(r'\] +((Train|Test) net output #\d+: \w+ = \S+)', line)
        if m:
            lines.append(m[1])
    # The first figure is from before the first iteration.
    return {'lines': lines, 'rate': statistics.median(rates[1:]) if len(rates) > 1 else None}


def training_differs(native, ours):
    """Returns what a forwarded training has that the native one has not; or None."""
    if not any('loss = ' in line for line in native['lines']):
        return 'the native training says no loss'
    for a, b in zip(native['lines'], ours['lines']):
        if a != b:
            return f'"{b}", natively "{a}"'
    if len(native['lines']) != len(ours['lines']):
        return f'{len(ours["lines"])} lines, natively {len(native["lines"])}'
    return None if native['weights'] == ours['weights'] else 'the weights at the end are others'


def layer_times(said):
    """Returns milliseconds by (layer, direction) of what `caffe time` says, and of the whole."""
    times = {}
    for line in said.splitlines():
        m = re.search(r'\] +(\S+)\s+(forward|backward): (\S+) ms\.$', line)
        if m:
            times[m[1], m[2]] = float(m[3])
        m = re.search(r'\] Average (Forward|Backward) pass: (\S+) ms\.$', line)
        if m:
            times['all layers', m[1].lower()] = float(m[2])
    return times


# --- Tables --------------------------------------------------------------------------


def figure(value):
    return '' if value is None else f'{value:,.0f}' if value >= 1000 else f'{value:.3g}'


def quotient(a, b):
    return f'{a / b:.3f}' if a and b else ''


def table(*rows):
    head, *rest = rows
    lines = [head, ['---'] + ['---:'] * (len(head) - 1)] + list(rest)
    return ''.join('| ' + ' | '.join(str(c) for c in row) + ' |\n' for row in lines) + '\n'


def tests_report(t):
    c = t['counts']
    yield table(['test cases', 'equal', 'differ', 'failed natively too', 'tests', 'passed natively', 'passed over shm'],
                [t['groups'], c['equal'], c['differs'], c['failed natively'], t['cases'], t['passed_natively'],
                 t['passed_forwarded']])
    yield ''.join(f'- {line}\n' for line in t['not_equal']) + ('\n' if t['not_equal'] else '')


def lenet_report(t):
    native, shm = t['native'], t['shm']
    yield table(['LeNet', 'native', 'shm', 'shm / native'],
                ['iterations per second', figure(native['rate']), figure(shm['rate']),
                 quotient(shm['rate'], native['rate'])],
                ['seconds in all', figure(native['seconds']), figure(shm['seconds']),
                 quotient(shm['seconds'], native['seconds'])])
    last = [line for line in native['lines'] if 'accuracy' in line][-1:]
    same = 'Losses and weights are the same both ways' if t['ok'] else f'**It differs**: {t["why"]}'
    yield f'{t["iterations"]:,} iterations. {same}. {"".join(last)}\n\n'


def counts(of):
    return ', '.join(f'{k} {v:,}' for k, v in of.items() if v) or 'none'


def vmfunc_report(t):
    rows = [[what, f'{of["requests"]:,}', f'{of["calls"]:,}', counts(of['exits']), counts(of['handoffs'])]
            for what, of in (('the training', t['vmfunc']), ('an iteration of it', t['iteration']))]
    yield table(['LeNet over vmfunc', 'requests', 'calls', 'exits in the view', 'handoffs'], *rows)
    last = [line for line in t['native']['lines'] if 'loss = ' in line and 'Iteration' in line][-1:]
    same = 'Losses and weights are native\'s' if t['ok'] else f'**It differs**: {t["why"]}'
    yield f'{t["iterations"]} iterations, {t["batch"]} images at a time. {same}. {"".join(last)}\n\n'


def alexnet_report(t):
    by = {(x['layer'], x['pass_']): x for x in t['layers']}
    head = ['AlexNet, ms'] + [f'{d}: {w}' for d in PASSES for w in ('native', 'shm', 'shm / native')]
    rows = []
    for layer in dict.fromkeys(x['layer'] for x in t['layers']):
        row = [layer]
        for x in (by.get((layer, d)) for d in PASSES):
            row += [figure(x['native']), figure(x['shm']), quotient(x['shm'], x['native'])] if x else [''] * 3
        rows.append(row)
    yield table(head, *rows)
    yield (f'Images at a time: {t["batch"]}. A figure is the median of the rounds ({t["rounds"]}). In a round, '
           f'`caffe time` says the mean of {t["repeats"]}.\n\n')


def report(data):
    """Returns the tables of what ran, in Markdown."""
    about = data['about']
    text = ', '.join(f'{k} {v}' for k, v in about.items()) + '\n\n'
    if about['backend'] == 'softgpu':
        text += '**Over softgpu, with a reduced amount**: the times are those of an interpreter.\n\n'
    for part, show in (('tests', tests_report), ('lenet', lenet_report), ('alexnet', alexnet_report),
                       ('vmfunc', vmfunc_report)):
        if part in data:
            error = data[part].get('error')
            text += f'**{part} did not run**: {error}\n\n' if error else ''.join(show(data[part]))
    return text
