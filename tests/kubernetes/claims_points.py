#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Points of claims_test.sh: claims as users, classes and the scheduler write them, and what they give."""
import claims
import points
from tenants import Refused

GIB = 1 << 30
DEVICES = [{'uuid': f'GPU-AAAA000{i}', 'memory': 8 * GIB, 'name': 'one', 'sms': 16} for i in range(2)]
POINTS = []


def result(device='gpu-aaaa0000', request='gpu', driver=claims.DRIVER, memory='2Gi', share='30', **more):
    return {'request': request, 'driver': driver, 'pool': 'n1', 'device': device,
            'consumedCapacity': {'memory': memory, 'share': share}, **more}


def config(source='FromClaim', requests=None, **said):
    head = {'apiVersion': claims.API_VERSION, 'kind': 'Tenant'}
    return {'source': source, 'requests': requests, 'opaque': {'driver': claims.DRIVER, 'parameters': {**head, **said}}}


def of_class(**said):
    return config('FromClass', **said)


def read(results, *configs):
    claim = {'status': {'allocation': {'devices': {'results': results, 'config': list(configs)}}}}
    try:
        return claims.read(claim, DEVICES)
    except Refused as e:
        return str(e)


def point(name, got, expected):
    POINTS.append((name, got, expected))


def limits(*args):
    got = read(*args)
    return got if isinstance(got, str) else got[0]['limits']


def first(*args):
    got = limits(*args)
    return got if isinstance(got, str) else got['GPU-AAAA0000']


def has(memory=2 * GIB, sm=30, **more):
    return {'memory': memory, 'sm': sm, **more}


# --- What a claim gives -------------------------------------------------------------------------------
one = [result()]
point('memory_and_share_are_what_was_allocated', first(one), has())
point('tenant_is_roots_without_a_user', read(one)[0]['user'], 0)
point('or_the_users_that_the_claim_names', read(one, config(user=1000))[0]['user'], 1000)
point('others_drivers_devices_do_not_count', first(one + [result(driver='gpu.example.com', device='x')]), has())
point('other_drivers_configuration_does_not_count', first(one, {'source': 'FromClaim', 'opaque': {
    'driver': 'gpu.example.com', 'parameters': {'x': 1}}}), has())
point('two_devices_have_limits_of_their_own', limits(one + [result('gpu-aaaa0001', memory='1Gi', share='5')]),
      {'GPU-AAAA0000': has(), 'GPU-AAAA0001': has(GIB, 5)})
point('two_parts_of_a_device_add_up', first([result(request='a'), result(request='b')]), has(4 * GIB, 60))
point('the_kubelet_hears_of_each', [d['request_names'] for d in read([result(request='a'), result(request='b')])[1]],
      [['a'], ['b']])
point('device_that_is_not_shared_is_had_whole', first([{**result(), 'consumedCapacity': None}]), has(8 * GIB, 100))
point('class_gives_a_ceiling', first(one, of_class(ceiling=60)), has(sm_max=60))
point('a_ceiling_is_never_below_the_share', first(one, of_class(ceiling=10)), has())
point('claim_may_ask_for_less_of_it', first(one, of_class(ceiling='none'), config(ceiling=50)), has(sm_max=50))
point('no_ceiling_is_the_whole_device', first(one, of_class(ceiling='none')), has(sm_max=100))
point('class_allows_a_priority', first(one, of_class(priority='high'), config(priority='high')), has(priority='high'))
point('claim_may_always_be_low', first(one, config(priority='low')), has(priority='low'))
point('claim_chooses_how_sms_are_shared', first(one, config(policy='spatial')), has(policy='spatial'))
point('configuration_of_another_request_does_not_count', first(one, config(requests=['other'], priority='high')), has())
point('that_of_a_request_is_its_subrequests',
      first([result(request='gpu/big')], config(requests=['gpu'], priority='low')), has(priority='low'))

# --- What is refused ----------------------------------------------------------------------------------
point('claim_without_our_device', read([]), 'the claim has no allocated device of gpu.wormhole.invalid')
point('device_that_the_server_does_not_have', read([result('gpu-x')]),
      "device 'gpu-x' is none of this server's: gpu-aaaa0000, gpu-aaaa0001")
point('admin_access', read([result(adminAccess=True)]),
      'request gpu: there is no adminAccess to gpu.wormhole.invalid; use `wormhole top\'')
point('more_of_a_device_than_there_is', read([result(share='60'), result(share='60')]),
      'the claim has more than device gpu-aaaa0000 has')
point('two_users', read([result(request='a'), result(request='b')], config(requests=['a'], user=5)),
      'a claim has one user, and not 2')
point('ceiling_above_the_classes', read(one, config(ceiling=40)),
      'ceiling 40 is above what the device class allows; its administrator may set `ceiling` there')
point('priority_above_the_classes', read(one, config(priority='high')),
      "priority 'high' is above the device class's 'normal'")
for name, text in (('no_share', '0'), ('share_beyond_all', '101'), ('part_of_a_percent', '0.5'),
                   ('share_below_none', '-1'), ('endless_share', '1e999999'), ('share_that_is_no_quantity', 'much')):
    point(name, limits([result(share=text)]),
          f"share '{text}' is no quantity" if text == 'much' else f"share '{text}' is no whole number from 1 to 100")
point('memory_beyond_the_device', read([result(memory='9Gi')]),
      f"memory '9Gi' is no whole number from 1 to {8 * GIB}")
point('unknown_capacity', read([{**result(), 'consumedCapacity': {'cores': '1'}}]),
      "capacity 'cores' is none of memory, share")
for name, said, text in (
        ('misspelled_parameter', {'prioritee': 'low'}, "parameter 'prioritee' is none of user, ceiling, priority, policy"),
        ('unknown_priority', {'priority': 'top'}, "priority 'top' is none of low, normal, high"),
        ('priority_that_is_a_list', {'priority': ['low']}, "priority ['low'] is none of low, normal, high"),
        ('unknown_policy', {'policy': 'fair'}, "policy 'fair' is none of temporal, spatial, both"),
        ('user_by_name', {'user': 'root'}, "user 'root' is no number from 0 to 4294967294"),
        ('user_that_is_true', {'user': True}, 'user True is no number from 0 to 4294967294'),
        ('user_beyond_all', {'user': 2**32 - 1}, 'user 4294967295 is no number from 0 to 4294967294'),
        ('ceiling_of_nothing', {'ceiling': 0}, 'ceiling 0 is no number from 1 to 100')):
    point(name, read(one, config(**said)), text)
KIND = 'parameters of gpu.wormhole.invalid have to be of apiVersion gpu.wormhole.invalid/v1, kind Tenant'
point('parameters_of_another_kind', read(one, config(kind='Other')), KIND)
for name, parameters in (('parameters_that_are_a_list', []), ('no_parameters', None)):
    bad = config()
    bad['opaque']['parameters'] = parameters
    point(name, read(one, bad), KIND)

points.finish(POINTS)
