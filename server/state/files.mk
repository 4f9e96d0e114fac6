# SPDX-License-Identifier: Apache-2.0
# The archive libstate.a.
STATE := handles interval messages
