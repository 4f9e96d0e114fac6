# SPDX-License-Identifier: Apache-2.0
"""The claims that are prepared, or being prepared, in a file that is replaced completely or not at all."""
import json
import os

VERSION = 1


class Checkpoint:
    def __init__(self, path):
        self.path = path
        self.claims = {}
        try:
            with open(path, encoding='utf-8') as f:
                kept = json.load(f)
            if kept['version'] != VERSION:
                raise SystemExit(f'wormhole: error: {path} is of version {kept["version"]}, and this driver '
                                 f'reads {VERSION}: install the driver that wrote it')
            self.claims = kept['claims']
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError) as e:
            raise SystemExit(f'wormhole: error: {path} cannot be read ({e!r}): remove it; '
                             'claims are then read from the API server again') from e

    def replace(self, claims):
        """The file first: what it does not have has not happened, also for a call that comes again."""
        new = self.path + '.new'
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'w', encoding='utf-8') as f:
            json.dump({'version': VERSION, 'claims': claims}, f, indent=1, sort_keys=True)
            f.flush()
            os.fsync(f.fileno())
        os.rename(new, self.path)
        folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self.claims = claims

    def put(self, uid, record):
        self.replace({**self.claims, uid: record})

    def remove(self, uid):
        if uid in self.claims:
            self.replace({u: r for u, r in self.claims.items() if u != uid})
