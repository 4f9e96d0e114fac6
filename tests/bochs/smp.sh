#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the test of this name without _smp once more, in a VMX host with two processors.
WH_CPUS=2 exec "${0%_smp.t}.t"
