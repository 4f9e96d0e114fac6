# SPDX-License-Identifier: Apache-2.0
"""What an allocated ResourceClaim says about the tenant that it gets, and what a kubelet is told of it.

Users write claims, and the configuration in them: each member is checked before it is used. What an
administrator's DeviceClass allows bounds what a claim may ask for.
"""
import decimal

from kubernetes.utils.quantity import parse_quantity
from tenants import Refused, is_instance

DRIVER = 'gpu.wormhole.invalid'
API_VERSION = DRIVER + '/v1'
CLASSES = ('low', 'normal', 'high')
POLICIES = ('temporal', 'spatial', 'both')
NO_CEILING = 100
UID_MAX = 2**32 - 2


def device_name(device):
    """The name of a device in slices and claims: its UUID, as a DNS label."""
    return device['uuid'].lower()


def number(text, what, most):
    try:
        value = parse_quantity(text)
    except (ValueError, decimal.InvalidOperation) as e:
        raise Refused(f'{what} {text!r} is no quantity') from e
    if not value.is_finite() or value != value.to_integral_value() or not 1 <= value <= most:
        raise Refused(f'{what} {text!r} is no whole number from 1 to {most}')
    return int(value)


def integer(value, what, least, most):
    if type(value) is not int or not least <= value <= most:
        raise Refused(f'{what} {value!r} is no number from {least} to {most}')
    return value


def one_of(value, what, known):
    if value not in known:
        raise Refused(f'{what} {value!r} is none of {", ".join(known)}')
    return value


# --- Configuration ----------------------------------------------------------------------------------

def ceiling(value):
    return NO_CEILING if value == 'none' else integer(value, 'ceiling', 1, NO_CEILING)


MEMBERS = {
    'user': lambda v: integer(v, 'user', 0, UID_MAX),
    'ceiling': ceiling,
    'priority': lambda v: one_of(v, 'priority', CLASSES),
    'policy': lambda v: one_of(v, 'policy', POLICIES),
}


def parameters(opaque):
    """The checked members of one configuration."""
    given = dict(opaque) if isinstance(opaque, dict) else {}
    if (given.pop('apiVersion', None), given.pop('kind', None)) != (API_VERSION, 'Tenant'):
        raise Refused(f"parameters of {DRIVER} have to be of apiVersion {API_VERSION}, kind Tenant")
    for name in given:
        one_of(name, 'parameter', tuple(MEMBERS))
    return {name: MEMBERS[name](value) for name, value in given.items()}


def configured(allocation, request):
    """What the class and then the claim say of this request; the claim stays within the class."""
    said = {'FromClass': {}, 'FromClaim': {}}
    for entry in allocation.get('config') or []:
        opaque = entry.get('opaque')
        requests = entry.get('requests') or [request]
        # A subrequest REQUEST/SUB has the configuration of its request, too.
        if opaque and opaque['driver'] == DRIVER and {request, request.split('/')[0]} & set(requests):
            said[one_of(entry['source'], 'source', tuple(said))].update(parameters(opaque['parameters']))
    allowed, asked = said['FromClass'], said['FromClaim']
    if asked.get('ceiling', 0) > allowed.get('ceiling', 0):
        raise Refused(f'ceiling {asked["ceiling"]} is above what the device class allows; '
                      'its administrator may set `ceiling` there')
    most = allowed.get('priority', 'normal')
    if CLASSES.index(asked.get('priority', 'low')) > CLASSES.index(most):
        raise Refused(f'priority {asked["priority"]!r} is above the device class\'s {most!r}')
    return {**allowed, **asked}


# --- Allocation ---------------------------------------------------------------------------------------

def add(limits, device, result, config):
    """Adds what one result has of its device. What nothing is said of is the whole device's."""
    consumed = result.get('consumedCapacity') or {}
    for name in consumed:
        one_of(name, 'capacity', ('memory', 'share'))
    memory = number(consumed.get('memory', device['memory']), 'memory', device['memory'])
    share = number(consumed.get('share', 100), 'share', 100)
    if limits:
        memory += limits['memory']
        share += limits['sm']
    if share > 100 or memory > device['memory']:
        raise Refused(f'the claim has more than device {result["device"]} has')
    limits.update(memory=memory, sm=share)
    # What is not said is not sent: a spatial share takes neither ceiling nor priority.
    if config.get('ceiling', 0) > share:
        limits['sm_max'] = config['ceiling']
    limits.update({name: config[name] for name in ('priority', 'policy') if name in config})


def read(claim, devices):
    """Returns what the tenant of an allocated claim is, and the devices of the answer.

    The tenant's devices are named by UUID, so that they are the same when the server starts again.
    """
    allocation = ((claim.get('status') or {}).get('allocation') or {}).get('devices') or {}
    ours = [r for r in allocation.get('results') or [] if r['driver'] == DRIVER]
    if not ours:
        raise Refused(f'the claim has no allocated device of {DRIVER}')
    known = {device_name(d): d for d in devices}
    limits, answer, users = {}, [], set()
    for r in ours:
        if r.get('adminAccess'):
            raise Refused(f'request {r["request"]}: there is no adminAccess to {DRIVER}; use `wormhole top\'')
        if r['device'] not in known:
            raise Refused(f'device {r["device"]!r} is none of this server\'s: {", ".join(known)}')
        config = configured(allocation, r['request'])
        users.add(config.get('user', 0))
        device = known[r['device']]
        add(limits.setdefault(device['uuid'], {}), device, r, config)
        answer.append({'request_names': [r['request']], 'pool_name': r['pool'], 'device_name': r['device'],
                       **({'share_id': r['shareID']} if 'shareID' in r else {})})
    if len(limits) > 1 and any(map(is_instance, limits)):
        raise Refused('a claim with a MIG instance has no other device, since a process that has one sees no other: '
                      f'make a claim for each of {", ".join(limits)}')
    if len(users) > 1:
        raise Refused(f'a claim has one user, and not {len(users)}')
    return {'user': users.pop(), 'limits': limits}, answer
