#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Points of manifests_test.sh: FOLDER SCHEMAS PROGRAMS.

Objects of a cluster are compared with Kubernetes' own schemas. Those have no kustomization, so what a
kustomization names is looked for here; and so is what a schema cannot say: that names lead somewhere.
"""
import glob
import json
import os
import re
import subprocess
import sys

import claims
import jsonschema
import points
import yaml

FOLDER, SCHEMAS, PROGRAMS = sys.argv[1:]
GROUPS = {'v1': 'core.v1', 'apps/v1': 'apps.v1', 'batch/v1': 'batch.v1', 'resource.k8s.io/v1': 'resource.v1',
          'rbac.authorization.k8s.io/v1': 'rbac.v1'}
CUSTOM = {'apiVersion', 'kind', 'namespace', 'resources', 'images', 'patches'}
PATHS = {f: os.path.relpath(f, FOLDER) for f in sorted(glob.glob(FOLDER + '/*/*.yaml'))}
FILES = {}
for path, short in PATHS.items():
    with open(path, encoding='utf-8') as f:
        FILES[short] = list(yaml.safe_load_all(f))
with open(SCHEMAS, encoding='utf-8') as f:
    EVERYTHING = json.load(f)
RESOLVER = jsonschema.RefResolver.from_schema(EVERYTHING)
CUSTOMIZATIONS = {f: o[0] for f, o in FILES.items() if f.endswith('kustomization.yaml')}
OBJECTS = [(f, o) for f, all_of in FILES.items() if f not in CUSTOMIZATIONS for o in all_of]
POINTS = []


def point(name, got, expected=()):
    POINTS.append((name, list(got), list(expected)))


def of(kind):
    return [o for _, o in OBJECTS if o['kind'] == kind]


def faults(o):
    schema = EVERYTHING['$defs'][f'io.k8s.api.{GROUPS[o["apiVersion"]]}.{o["kind"]}']
    return [e.message for e in jsonschema.Draft202012Validator(schema, resolver=RESOLVER).iter_errors(o)]


def pods():
    """The specification of each pod that an object makes, with its name."""
    for f, o in OBJECTS:
        spec = o if o['kind'] == 'Pod' else o.get('spec', {}).get('template')
        if spec and 'containers' in spec.get('spec', {}):
            yield f'{f}: {o["metadata"]["name"]}', o, spec['spec']


def containers():
    for name, _, pod in pods():
        for c in pod.get('initContainers', []) + pod['containers']:
            yield f'{name}/{c["name"]}', pod, c


# --- Objects ----------------------------------------------------------------------------------------------
point('each_object_is_as_the_schema_has_it', [f'{f}: {o["kind"]}: {e}' for f, o in OBJECTS for e in faults(o)])
POINTS.append(('a_schema_refuses_what_it_does_not_know',
               bool(faults({'apiVersion': 'v1', 'kind': 'Pod', 'spce': {}})), True))
point('selectors_are_those_of_the_pods', [o['metadata']['name'] for o in of('DaemonSet') + of('Deployment')
      if o['spec']['selector']['matchLabels'] != o['spec']['template']['metadata']['labels']])
point('each_mount_has_a_volume', [f'{name}: {m["name"]}' for name, pod, c in containers()
      for m in c.get('volumeMounts', []) if m['name'] not in {v['name'] for v in pod.get('volumes', [])}])
point('folders_of_server_kubelet_and_devices_are_where_the_host_has_them', [
    f'{name}: {m["mountPath"]}' for name, pod, c in containers() for m in c.get('volumeMounts', [])
    for v in pod['volumes'] if v['name'] == m['name'] in ('run', 'kubelet', 'cdi', 'state')
    and v['hostPath']['path'] != m['mountPath']])
point('only_the_server_is_privileged', [name for name, _, c in containers()
      if c.get('securityContext', {}).get('privileged')], ['base/server.yaml: wormhole-server/server'])
point('all_other_pods_of_nodes_have_no_capability', [name for name, _, c in containers() if c['image'] == 'wormhole'
      and not c['securityContext'].get('privileged') and (c['securityContext']['capabilities'] != {'drop': ['ALL']} or
      c['securityContext']['allowPrivilegeEscalation'] or not c['securityContext']['readOnlyRootFilesystem'])])
point('only_the_driver_has_an_account', [name for name, o, pod in pods() if o['kind'] == 'DaemonSet'
      and pod.get('automountServiceAccountToken', True)], ['claims/driver.yaml: wormhole-kubernetes'])
point('the_account_is_there_and_has_the_role', [(of('ServiceAccount')[0]['metadata']['name'],
      of('ClusterRoleBinding')[0]['subjects'][0]['name'], of('ClusterRoleBinding')[0]['roleRef']['name'])],
      [('wormhole-kubernetes',) * 3])
RIGHTS = {(r, v) for rule in of('ClusterRole')[0]['rules'] for r in rule['resources'] for v in rule['verbs']}
point('it_may_do_what_the_driver_does_and_no_more', sorted(RIGHTS), [
    ('nodes', 'get'), ('resourceclaims', 'get'), ('resourceslices', 'create'), ('resourceslices', 'get'),
    ('resourceslices', 'update')])


# --- Programs -----------------------------------------------------------------------------------------------

def unknown():
    """Options of the pods' commands that the program does not have."""
    for name, _, c in containers():
        if c['image'] != 'wormhole' or c['command'][0] == 'cp':
            continue
        program, *words = c['command']
        helped = [os.path.join(PROGRAMS, program if program == 'wormhole' else f'../kubernetes/{program}')]
        helped += [w for w in words[:1] if program == 'wormhole'] + ['--help']
        said = subprocess.run(helped, capture_output=True, text=True, check=False)
        if said.returncode:
            yield f'{name}: {helped}: {said.stderr}'
        yield from (f'{name}: {w}' for w in words if w.startswith('--')
                    and not re.search(re.escape(w.partition('=')[0]) + r'\b', said.stdout))


point('commands_of_pods_have_such_options', unknown())

# --- Kustomizations -------------------------------------------------------------------------------------------
point('kustomizations_are_of_their_kind', [f for f, o in CUSTOMIZATIONS.items() if set(o) - CUSTOM or
      (o['apiVersion'], o['kind']) != ('kustomize.config.k8s.io/v1beta1', 'Kustomization')])
point('each_resource_is_there', [f'{f}: {r}' for f, o in CUSTOMIZATIONS.items() for r in o['resources']
      if not os.path.exists(os.path.join(FOLDER, os.path.dirname(f), r))])
NAMED = {os.path.normpath(os.path.join(os.path.dirname(f), r))
         for f, o in CUSTOMIZATIONS.items() for r in o['resources']}
point('each_file_is_one', [f for f, _ in OBJECTS if f not in NAMED and not f.startswith('pods/')])


def missed():
    """Patches (RFC 6902) whose target has no such place."""
    for f, o in CUSTOMIZATIONS.items():
        for p in o.get('patches', []):
            target = [x for _, x in OBJECTS if (x['kind'], x['metadata']['name']) == tuple(p['target'].values())]
            for step in yaml.safe_load(p['patch']):
                at = target[0] if target else {}
                for word in step['path'].strip('/').split('/'):
                    at = at[int(word)] if isinstance(at, list) else at.get(word)
                    if at is None:
                        yield f'{f}: {step["path"]}'
                        break


point('each_patch_changes_something_that_is_there', missed())

# --- Examples -------------------------------------------------------------------------------------------------
CLASS = of('DeviceClass')[0]
TEMPLATES = {o['metadata']['name']: o['spec']['spec']['devices'] for o in of('ResourceClaimTemplate')}


def tenant(devices):
    """What the driver makes of a template's claim, as a scheduler would write it."""
    request = devices['requests'][0]
    config = [{'source': 'FromClass', **c} for c in CLASS['spec']['config']]
    config += [{'source': 'FromClaim', **c} for c in devices['config']]
    result = {'request': request['name'], 'driver': claims.DRIVER, 'pool': 'n1', 'device': 'gpu-1',
              'consumedCapacity': request['exactly']['capacity']['requests']}
    allocation = {'devices': {'results': [result], 'config': config}}
    return claims.read({'status': {'allocation': allocation}}, [{'uuid': 'GPU-1', 'memory': 80 << 30}])[0]


point('class_chooses_the_drivers_devices', [s['cel']['expression'] for s in CLASS['spec']['selectors']],
      [f'device.driver == "{claims.DRIVER}"'])
GIVEN = sorted((n, *tenant(d)['limits']['GPU-1'].items()) for n, d in TEMPLATES.items())
point('driver_takes_the_examples_parameters', GIVEN, [
    ('batch', ('memory', 4 << 30), ('sm', 30), ('sm_max', 100), ('priority', 'low')),
    ('inference', ('memory', 8 << 30), ('sm', 20), ('sm_max', 100), ('priority', 'normal')),
    ('notebook', ('memory', 2 << 30), ('sm', 5), ('sm_max', 50), ('priority', 'normal')),
    ('training', ('memory', 16 << 30), ('sm', 60), ('sm_max', 100), ('priority', 'low'))])
point('pods_of_examples_have_a_claim_and_its_user', [
      name for name, _, pod in pods() for c in pod.get('resourceClaims', [])
      if pod['securityContext']['runAsUser'] != tenant(TEMPLATES[c['resourceClaimTemplateName']])['user']])
points.finish(POINTS)
