# SPDX-License-Identifier: Apache-2.0
"""HAMi's four resources, and which container gets what of which device.

A kubelet gives out units of each resource without knowing of the others, or of devices. So units mean
nothing by themselves: before a container starts, the kubelet says how many it has of each, and only
then it gets its devices, and a share of them (`wormhole cdi --share --hami'). What a container has
without a unit for it, other resources have less of: their units are unhealthy meanwhile.
"""
import threading
import time

from pods import GPU, share_of
from tenants import Refused, is_instance

MIB = 1 << 20
MEMORY, PERCENT, CORES = 'nvidia.com/gpumem', 'nvidia.com/gpumem-percentage', 'nvidia.com/gpucores'
RESOURCES = (GPU, MEMORY, PERCENT, CORES)


def up(a, b):
    return -(-a // b)


def name_of(i, resource):
    """Units of GPUs are numbers, of which a share has its name; others are as short as can be."""
    return str(i) if resource == GPU else format(i, 'x')


class Vgpus:
    """`split` containers share a device at most; a unit of memory is `unit` MiB.

    For `settle` seconds after a kubelet has started, it is not believed what it does not name.
    """

    def __init__(self, server, pods, checkpoint, split, unit, settle=0):
        self.server = server
        self.pods = pods
        self.checkpoint = checkpoint
        self.split = split
        self.unit = unit
        self.settle = settle
        self.kubelet = None     # whose lists these are, and since when
        self.since = 0
        self.lock = threading.Lock()
        self.memory = {}        # MiB of each device that is well, by UUID
        self.most = dict.fromkeys(RESOURCES, 0)     # units that there were when most devices were well
        self.containers = []

    # --- What is left ------------------------------------------------------------------------------------

    def see(self):
        """Asks server and kubelet. While no server answers, no device is well."""
        self.memory = {}
        self.memory = {d['uuid']: d['memory'] // MIB for d in self.server.devices() if d['healthy']}

    def used(self, uuid):
        """MiB and percent of the device that containers have, and how many these are."""
        parts = [r['has'][uuid] for r in self.checkpoint.records.values() if uuid in r['has']]
        return sum(p['memory'] for p in parts), sum(p.get('sm', 0) for p in parts), len(parts)

    def place(self, counts):
        """What a container with so many units gets: {uuid: limits}, on the devices with the least left."""
        n, cores = counts[GPU], counts.get(CORES, 0)
        if MEMORY in counts and PERCENT in counts:
            raise Refused(f'the container asks for {MEMORY} and {PERCENT}: leave one out')
        if cores > 100 or counts.get(PERCENT, 0) > 100:
            raise Refused(f'the container asks for more than 100 of {CORES if cores > 100 else PERCENT}, '
                          'which are percent of each of its devices')
        fits = []
        for uuid, total in self.memory.items():
            # Who has a MIG instance has no other device.
            if n > 1 and is_instance(uuid):
                continue
            memory = (counts[MEMORY] * self.unit if MEMORY in counts else
                      total * counts[PERCENT] // 100 if PERCENT in counts else total // self.split)
            used, busy, containers = self.used(uuid)
            if used + memory <= total and busy + cores <= 100 and containers < self.split:
                fits.append((total - used, uuid, {'memory': memory, **({'sm': cores} if cores else {})}))
        if len(fits) < n:
            left = ', '.join(f'{u} {t - self.used(u)[0]} MiB, {100 - self.used(u)[1]}%'
                             for u, t in self.memory.items())
            raise Refused(f'{len(fits)} devices have room for the container, which asks for {n}; it waits until '
                          f'others have ended (left: {left or "no device that is well"})')
        return {uuid: limits for _, uuid, limits in sorted(fits, key=lambda f: f[:2])[:n]}

    # --- Containers ----------------------------------------------------------------------------------------

    def forget(self):
        """Takes back what containers had that are gone.

        A kubelet that has started names no pod before it has heard of them from the API server. So what runs is
        not gone, whatever the kubelet says.
        """
        kubelet, started = self.pods.kubelet()
        if kubelet != self.kubelet:
            self.kubelet, self.since = kubelet, time.monotonic()
        # A plugin that has started itself goes by the clock, which may be set.
        if max(time.monotonic() - self.since, time.time() - started) < self.settle:
            return
        running = self.server.tenants()
        there = {share_of(c.devices.get(GPU)): c for c in self.containers}
        for share, record in list(self.checkpoint.records.items()):
            c = there.get(share)
            if any(t.startswith(share + '-') for t in running):
                continue
            if not c or (c.namespace, c.pod, c.name) != tuple(record[k] for k in ('namespace', 'pod', 'container')):
                self.server.unshare(share)
                self.checkpoint.remove(share)

    def start(self, resource, ids):
        """Before a container starts: it gets its devices, or those that it had before it ended."""
        with self.lock:
            self.see()
            self.containers = self.pods.containers()
            self.forget()
            found = [c for c in self.containers if c.devices.get(resource) == set(ids)]
            if not found:
                raise Refused(f'the kubelet names no container with these {len(ids)} of {resource}; '
                              'of a pod\'s containers, those that run before the others get no part of a GPU')
            c = found[0]
            counts = {r: len(c.devices[r]) for r in RESOURCES if c.devices.get(r)}
            if GPU not in counts:
                raise Refused(f'container {c.namespace}/{c.pod}/{c.name} asks for {resource} and for no {GPU}: '
                              'add a limit for it')
            if resource == GPU:
                self.give(c, share_of(ids), counts)

    def give(self, c, share, counts):
        if not share:
            raise Refused(f'container {c.namespace}/{c.pod}/{c.name} has {GPU} of another plugin: '
                          'delete the pod, so that it is made anew')
        who = {'namespace': c.namespace, 'pod': c.pod, 'container': c.name, 'counts': counts}
        record = self.checkpoint.records.get(share)
        if not record or {k: record[k] for k in who} != who or not set(record['has']) <= set(self.memory):
            self.checkpoint.remove(share)
            record = {**who, 'has': self.place(counts)}
            self.checkpoint.put(share, record)
        self.server.share(share, {u: {**h, 'memory': h['memory'] * MIB} for u, h in record['has'].items()})

    # --- Units ---------------------------------------------------------------------------------------------

    def totals(self):
        n = len(self.memory)
        return {GPU: n * self.split, MEMORY: sum(m // self.unit for m in self.memory.values()),
                PERCENT: 100 * n, CORES: 100 * n}

    def beside(self):
        """Units of each resource that containers have without having been counted by it."""
        beside = dict.fromkeys(RESOURCES, 0)
        for r in self.checkpoint.records.values():
            has = {u: h for u, h in r['has'].items() if u in self.memory}
            real = {MEMORY: sum(up(h['memory'], self.unit) for h in has.values()),
                    PERCENT: sum(up(100 * h['memory'], self.memory[u]) for u, h in has.items()),
                    CORES: sum(h.get('sm', 0) for h in has.values())}
            for resource, units in real.items():
                beside[resource] += max(0, units - r['counts'].get(resource, 0))
        return beside

    def look(self):
        """Learns what there is by now, and forgets containers that are gone."""
        with self.lock:
            self.see()
            self.containers = self.pods.containers()
            self.forget()

    def units(self):
        """Returns {resource: [(unit, whether it can be given out)]}, as the last look found it."""
        with self.lock:
            return self.count()

    def count(self):
        totals, beside = self.totals(), self.beside()
        units = {}
        for resource in RESOURCES:
            # Units of devices that are gone, or not well, stay: containers may have them.
            self.most[resource] = max(self.most[resource], totals[resource])
            held = set().union(*(c.devices.get(resource, set()) for c in self.containers))
            # Those that nobody has are the first that cannot be had.
            away = self.most[resource] - totals[resource] + beside[resource]
            names = [name_of(i, resource) for i in range(self.most[resource])]
            free = [n for n in names if n not in held]
            bad = set((free[::-1] + [n for n in names if n in held])[:away])
            units[resource] = [(n, n not in bad) for n in names]
        return units
