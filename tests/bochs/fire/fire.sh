#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test puts real VMs under fire, on two processors, by `run` here, with the VMs of the
# behaviour test. `run` says what it promises.
WH_RUN=fire exec "${0%fire.t}behaviours.t"
