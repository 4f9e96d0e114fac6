# SPDX-License-Identifier: Apache-2.0
"""How the devices are, as each look at the server finds them, for the kubelets that watch."""
import math
import threading
import time

import claims
import health_pb2 as wire

TIMEOUT_S = 30  # what kubelets take who are told none
BROKEN = 'the GPU has had a memory error that ECC could not correct: reset it, or start the node again'
AWAKE_S = 1     # how long a watcher that has gone away is not noticed


class Health:
    def __init__(self, node, period):
        """`period` is how many seconds there are between looks."""
        self.node = node
        # A look may take its time, and one may be without an answer: three of them may be missing.
        self.timeout = max(TIMEOUT_S, math.ceil(3 * period))
        self.changed = threading.Condition()
        self.looks = 0
        self.devices = []
        self.ended = False

    def tell(self, devices):
        """A device that the server does not name any more is left out, and so unknown to the kubelet."""
        now = int(time.time())
        with self.changed:
            self.devices = [wire.DeviceHealth(
                device=wire.DeviceIdentifier(pool_name=self.node, device_name=claims.device_name(d)),
                health=wire.HEALTHY if d['healthy'] else wire.UNHEALTHY, last_updated_time=now,
                health_check_timeout_seconds=self.timeout, message='' if d['healthy'] else BROKEN) for d in devices]
            self.looks += 1
            self.changed.notify_all()

    def end(self):
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def watch(self, _, context):
        """Each look is told, also one that found nothing new: the kubelet forgets what it does not hear."""
        told = 0
        while context.is_active() and not self.ended:
            with self.changed:
                self.changed.wait_for(lambda: self.looks != told or self.ended, AWAKE_S)
                if self.looks == told:
                    continue
                told, devices = self.looks, self.devices
            yield wire.NodeWatchResourcesResponse(devices=devices)
