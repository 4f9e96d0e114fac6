# SPDX-License-Identifier: Apache-2.0
"""What a driver has given out, or is giving out, in a file that is replaced completely or not at all."""
import json
import os

from tenants import Refused

VERSION = 1


class Checkpoint:
    def __init__(self, path, kind, lost):
        """The file has records of this kind by their names; `lost` says what becomes of them without it."""
        self.path = path
        self.kind = kind
        self.records = {}
        try:
            with open(path, encoding='utf-8') as f:
                kept = json.load(f)
            if kept['version'] != VERSION:
                raise SystemExit(f'wormhole: error: {path} is of version {kept["version"]}, and this driver '
                                 f'reads {VERSION}: install the driver that wrote it')
            self.records = dict(kept[kind])
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError) as e:
            raise SystemExit(f'wormhole: error: {path} cannot be read ({e!r}): remove it; '
                             f'{lost}') from e

    def write(self, records):
        new = self.path + '.new'
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'w', encoding='utf-8') as f:
            json.dump({'version': VERSION, self.kind: records}, f, indent=1, sort_keys=True)
            f.flush()
            os.fsync(f.fileno())
        os.rename(new, self.path)
        folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def replace(self, records):
        """The file first: what it does not have has not happened, also for a call that comes again."""
        try:
            self.write(records)
        except OSError as e:
            raise Refused(f'{self.path} cannot be written: {e}') from e
        self.records = records

    def put(self, name, record):
        self.replace({**self.records, name: record})

    def remove(self, name):
        if name in self.records:
            self.replace({n: r for n, r in self.records.items() if n != name})
