#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test puts real VMs under fire, on two processors, by `run` here, with the VMs of the
# behaviour test. `run` says what it promises.
WH_RUN=fire WH_CPUS=2 exec "${0%fire.t}behaviours.t"
