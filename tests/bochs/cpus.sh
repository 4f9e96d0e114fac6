#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a test of the emulated host on the number of processors that `make test` leaves out for it:
# NAME_one is the test NAME on one processor, NAME_two on two.
bochs=$(cd "$(dirname "$0")/../bochs" && pwd)
name=$(basename "$0" .t)
case $name in
*_one) WH_CPUS=1 ;;
*_two) WH_CPUS=2 ;;
esac
export WH_CPUS
exec "$bochs/${name%_*}.t"
