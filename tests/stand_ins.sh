# SPDX-License-Identifier: Apache-2.0
# Tests of servers source this file. The variables named here tell test doubles of a driver or a
# library what to do; the server passes them to its workers.
export WORMHOLE_WORKER_ENV=INTRUDER:INTRUDER_FILE:INTRUDER_CACHE:INTRUDER_EAT:FAKE_LOG:FAKE_VERSION:FAKE_CRASH:FAKE_HMM:MOCK_GPU
