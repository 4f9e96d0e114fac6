#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""image.py FOLDER FILE NAME [WORD...] writes a folder as an image of one layer, which `ctr images import' reads.

NAME has a tag; the words are what a container of it runs if nobody says.
"""
import hashlib
import io
import json
import os
import sys
import tarfile


def add(archive, name, data):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def roots(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = 'root'
    return entry


def main():
    folder, path, name, *words = sys.argv[1:]
    layer = path + '.layer'
    with tarfile.open(layer, 'w') as t:
        t.add(folder, '.', filter=roots)
    with open(layer, 'rb') as f:
        digest = hashlib.file_digest(f, 'sha256').hexdigest()
    config = json.dumps({
        'architecture': 'amd64', 'os': 'linux', 'rootfs': {'type': 'layers', 'diff_ids': ['sha256:' + digest]},
        'config': {'Cmd': words, 'Env': ['PATH=/usr/sbin:/usr/bin:/sbin:/bin']}}).encode()
    with tarfile.open(path, 'w') as t:
        add(t, 'config.json', config)
        t.add(layer, 'layer.tar')
        add(t, 'manifest.json', json.dumps([{'Config': 'config.json', 'RepoTags': [name],
                                             'Layers': ['layer.tar']}]).encode())
    os.unlink(layer)


if __name__ == '__main__':
    main()
