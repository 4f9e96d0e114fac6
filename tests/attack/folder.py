# SPDX-License-Identifier: Apache-2.0
"""folder.py DIR VICTIM is a user who prepares a folder for somebody else's server. It makes DIR.
Then, until it is killed, it puts links to the file VICTIM wherever the server makes a socket,
and folders of its own in place of the server's. Earlier root's server accepted such a folder,
and its chown() followed a link. The program says "ready" after the first round."""
import os
import signal
import sys

LINKS = 'server.sock', 'control.sock', 'tenants/t.sock'
LIVES = 120     # seconds; the limit of its life, whatever becomes of the test


def plant(folder, victim):
    place, new = os.path.join(folder, 'tenants'), os.path.join(folder, 'new')
    try:
        if os.path.isdir(place) and os.stat(place).st_uid != os.getuid():
            os.rename(place, os.path.join(folder, f'away{len(os.listdir(folder))}'))
        os.makedirs(place, exist_ok=True)
    except OSError:
        pass
    for name in LINKS:
        try:
            os.symlink(victim, new)
            os.rename(new, os.path.join(folder, name))
        except OSError:
            pass


def main():
    folder, victim = sys.argv[1:]
    os.mkdir(folder, 0o755)
    ready = False
    signal.alarm(LIVES)
    while True:
        plant(folder, victim)
        if not ready:
            print('ready', flush=True)
        ready = True


main()
