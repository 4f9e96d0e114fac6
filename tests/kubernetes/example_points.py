#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Points of example_test.sh: EXAMPLE SCHEMAS."""
import json
import sys

import claims
import jsonschema
import points
import yaml

KINDS = {'DeviceClass': 'resource.v1', 'ClusterRole': 'rbac.v1', 'ResourceClaimTemplate': 'resource.v1',
         'Pod': 'core.v1'}

with open(sys.argv[1], encoding='utf-8') as f:
    OBJECTS = {o['kind']: o for o in yaml.safe_load_all(f)}
with open(sys.argv[2], encoding='utf-8') as f:
    SCHEMAS = json.load(f)


def faults(o):
    schema = SCHEMAS['$defs'][f'io.k8s.api.{KINDS[o["kind"]]}.{o["kind"]}']
    check = jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver.from_schema(SCHEMAS))
    return [e.message for e in check.iter_errors(o)]


def allocated():
    """The claim of the example as a scheduler would write it, with the class's configuration."""
    spec = OBJECTS['ResourceClaimTemplate']['spec']['spec']['devices']
    request = spec['requests'][0]
    config = [{'source': 'FromClass', **c} for c in OBJECTS['DeviceClass']['spec']['config']]
    config += [{'source': 'FromClaim', **c} for c in spec['config']]
    result = {'request': request['name'], 'driver': claims.DRIVER, 'pool': 'n1', 'device': 'gpu-1',
              'consumedCapacity': request['exactly']['capacity']['requests']}
    return {'status': {'allocation': {'devices': {'results': [result], 'config': config}}}}


POINTS = [(f'{kind}_is_as_the_schema_has_it', faults(OBJECTS[kind]), []) for kind in KINDS]
TENANT, _ = claims.read(allocated(), [{'uuid': 'GPU-1', 'memory': 8 << 30}])
POINTS.append(('driver_takes_its_parameters', TENANT, {'user': 1000, 'limits': {'GPU-1': {
    'memory': 4 << 30, 'sm': 30, 'sm_max': 100, 'priority': 'low'}}}))
POINTS.append(('driver_is_the_one_of_the_selector', [s['cel']['expression'] for s in
               OBJECTS['DeviceClass']['spec']['selectors']], [f'device.driver == "{claims.DRIVER}"']))
points.finish(POINTS)
