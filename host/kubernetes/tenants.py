# SPDX-License-Identifier: Apache-2.0
"""The node's Wormhole server: its devices, and the tenants of claims with their specifications."""
import json
import os
import socket
import subprocess

TIMEOUT_S = 30
PACKET = 65536      # WH_CONTROL_PACKET


class Refused(Exception):
    """What was asked for cannot be done; the text is for the user."""


def is_instance(uuid):
    """Is this a MIG instance? A tenant that has one has no other device."""
    return uuid.startswith('MIG-')


class Server:
    def __init__(self, folder, cdi_folder):
        self.folder = folder
        self.cdi_folder = cdi_folder

    def ask(self, op, **members):
        """One request to the control socket (docs/tenants.md)."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.settimeout(TIMEOUT_S)
                s.connect(os.path.join(self.folder, 'control.sock'))
                s.send(json.dumps({'op': op, **members}).encode())
                answer = json.loads(s.recv(PACKET) or b'{"error": "it closed the connection"}')
        except (OSError, ValueError) as e:
            raise Refused(f'no Wormhole server answers at {self.folder}: {e}; '
                          'start it by `wormhole serve --daemon\'') from e
        if answer.get('ok') is not True:
            raise Refused(f'the Wormhole server refused {op!r}: {answer.get("error", "without a reason")}')
        return answer

    def command(self, *words):
        """Runs `wormhole WORDS...` for this server, and returns what it prints."""
        try:
            done = subprocess.run(['wormhole', *words, '--dir', self.folder], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=2 * TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise Refused(f'`wormhole {words[0]}\' did not run to its end: {e}') from e
        if done.returncode:
            raise Refused(f'`wormhole {" ".join(words)}\' failed: {done.stderr.strip()[-400:]}')
        return done.stdout.strip()

    def info(self):
        return self.ask('info')

    def devices(self):
        """The devices, each with `healthy`: no memory error that ECC could not correct since the GPU's
        driver was loaded. Where the GPU's driver does not count them, there is none."""
        devices = self.info()['devices']
        figures = self.ask('usage').get('devices') or []
        broken = [f.get('ecc_uncorrected', 0) for f in figures] + [0] * len(devices)
        return [{**d, 'healthy': not errors} for d, errors in zip(devices, broken)]

    def tenants(self):
        return {t['tenant'] for t in self.ask('list')['tenants']}

    def create(self, name, tenant):
        """Makes the tenant that claims.read() describes; it outlives the server."""
        places = {d['uuid']: i for i, d in enumerate(self.info()['devices'])}
        for uuid in tenant['limits']:
            if uuid not in places:
                raise Refused(f'the Wormhole server has no device {uuid} now')
        self.ask('create', tenant=name, keep=True, uid=tenant['user'], devices=list(tenant['limits']),
                 limits=[{'device': places[uuid], **has} for uuid, has in tenant['limits'].items()])

    def specify(self, name):
        """Writes the specification for containers, and returns the name of its device."""
        return self.command('cdi', name, '--cdi-dir', self.cdi_folder)

    def delete(self, name):
        """Ends the tenant with its programs. Its specification goes with it. Returns when all is gone."""
        self.command('tenant', 'delete', name, '--force')

    def share(self, name, limits):
        """Makes or changes a share (docs/hami.md): {uuid: limits}, as of create()."""
        places = {d['uuid']: i for i, d in enumerate(self.info()['devices'])}
        for uuid in limits:
            if uuid not in places:
                raise Refused(f'the Wormhole server has no device {uuid} now')
        words = ['--devices', ','.join(str(places[uuid]) for uuid in limits)]
        for uuid, has in limits.items():
            sm = f',sm={has["sm"]}' if 'sm' in has else ''
            words += ['--device', f'{places[uuid]}:mem={has["memory"]}B{sm}']
        self.command('cdi', '--share', name, '--hami', *words, '--cdi-dir', self.cdi_folder)

    def unshare(self, name):
        """Removes a share, if it is there; containers that have it keep their tenants."""
        if os.path.exists(os.path.join(self.cdi_folder, f'wormhole-share-{name}.json')):
            self.command('cdi', '--remove', name, '--cdi-dir', self.cdi_folder)
