#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real VMs under fire, on two processors: `run` here, with the VMs of the behaviour test.
WH_RUN=fire WH_CPUS=2 exec "${0%fire.t}behaviours.t"
