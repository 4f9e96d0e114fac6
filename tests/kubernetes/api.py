#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""api.py FOLDER is a stand-in for a cluster's API server: claims, slices, one node.

It takes no object that does not validate, strictly, by Kubernetes' published schemas
(tools/get-kubernetes.sh), and writes FOLDER/kubeconfig when it answers. While FOLDER/away exists it
answers 503; while FOLDER/ungated exists it keeps of a slice what it does without the feature gate
DRAConsumableCapacity. FOLDER/asked has the number of times that slices were asked for.
"""
import http.server
import json
import os
import sys
import uuid

import jsonschema

SCHEMAS = os.path.join(os.environ['WH_BUILD'], 'kubernetes-schemas', '_definitions.json')
GROUP = '/apis/resource.k8s.io/v1/'
KINDS = {'resourceclaims': 'ResourceClaim', 'resourceslices': 'ResourceSlice', 'deviceclasses': 'DeviceClass'}
asked = 0
objects = {'/api/v1/nodes/n1': {'apiVersion': 'v1', 'kind': 'Node',
                                'metadata': {'name': 'n1', 'uid': '0d9c7d0e-1111-4222-8333-444455556666'}}}


def validators():
    with open(SCHEMAS, encoding='utf-8') as f:
        everything = json.load(f)
    resolver = jsonschema.RefResolver.from_schema(everything)
    for name, kind in KINDS.items():
        schema = everything['$defs']['io.k8s.api.resource.v1.' + kind]
        yield name, jsonschema.Draft202012Validator(schema, resolver=resolver)


def faults(path, o):
    """What is wrong with an object, in words: by its schema, and by what names it."""
    plural = path.split('/')[-2] if path.split('/')[-2] in KINDS else path.split('/')[-1]
    if (o.get('apiVersion'), o.get('kind')) != ('resource.k8s.io/v1', KINDS[plural]):
        yield f'apiVersion and kind are {o.get("apiVersion")}, {o.get("kind")}'
    for e in VALIDATORS[plural].iter_errors(o):
        yield f'{"/".join(map(str, e.absolute_path))}: {e.message}'


def count():
    """Counts what the driver's client has asked; the file is replaced, since the test reads it meanwhile."""
    global asked
    asked += 1
    new = os.path.join(FOLDER, 'asked.new')
    with open(new, 'w', encoding='ascii') as f:
        f.write(str(asked))
    os.rename(new, os.path.join(FOLDER, 'asked'))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def answer(self, status, o):
        text = json.dumps(o).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, status, message):
        self.answer(status, {'apiVersion': 'v1', 'kind': 'Status', 'status': 'Failure', 'code': status,
                             'message': message})

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get('Content-Length') or 0)))

    def keep(self, status, path, o):
        for d in o['spec'].get('devices') or [] if os.path.exists(os.path.join(FOLDER, 'ungated')) else []:
            del d['allowMultipleAllocations']
            for c in d['capacity'].values():
                del c['requestPolicy']
        o['metadata']['resourceVersion'] = str(uuid.uuid4().int % 10**9)
        objects[path] = o
        self.answer(status, o)

    def known(self):
        """Answers for an object that is not there, or a server that is away. Returns whether to go on."""
        if os.path.exists(os.path.join(FOLDER, 'away')):
            self.refuse(503, 'away')
        elif self.command != 'POST' and self.path not in objects:
            self.refuse(404, f'{self.path} not found')
        else:
            return True
        return False

    def do_GET(self):
        if '/resourceslices/' in self.path and self.headers['User-Agent'].startswith('OpenAPI-Generator'):
            count()
        if self.known():
            self.answer(200, objects[self.path])

    def do_DELETE(self):
        if self.known():
            self.answer(200, objects.pop(self.path))

    def do_POST(self):
        o = self.body()
        if not self.known():
            return
        path = f'{self.path}/{o["metadata"]["name"]}'
        wrong = list(faults(path, o))
        if wrong:
            self.refuse(422, '; '.join(wrong))
        elif path in objects:
            self.refuse(409, f'{path} exists')
        else:
            o['metadata'].setdefault('uid', str(uuid.uuid4()))
            self.keep(201, path, o)

    def do_PUT(self):
        o = self.body()
        if not self.known():
            return
        wrong = list(faults(self.path, o))
        if wrong:
            self.refuse(422, '; '.join(wrong))
        elif o['metadata'].get('resourceVersion') != objects[self.path]['metadata']['resourceVersion']:
            self.refuse(409, 'the object has been modified')
        else:
            self.keep(200, self.path, o)

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.daemon_threads = True
    where = f'http://127.0.0.1:{server.server_port}'
    new = os.path.join(FOLDER, 'kubeconfig.new')
    with open(new, 'w', encoding='utf-8') as f:
        json.dump({'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c',
                   'clusters': [{'name': 'c', 'cluster': {'server': where}}], 'users': [{'name': 'u', 'user': {}}],
                   'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}, f)
    os.rename(new, os.path.join(FOLDER, 'kubeconfig'))
    server.serve_forever()


FOLDER = sys.argv[1]
VALIDATORS = dict(validators())
main()
