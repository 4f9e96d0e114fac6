# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of servers: what stands in for a driver or a library is told by these, in workers, too.
export WORMHOLE_WORKER_ENV=INTRUDER:INTRUDER_FILE:INTRUDER_CACHE:INTRUDER_EAT:FAKE_LOG:FAKE_VERSION:FAKE_CRASH:FAKE_HMM:MOCK_GPU
