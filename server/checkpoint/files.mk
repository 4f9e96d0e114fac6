# SPDX-License-Identifier: Apache-2.0
# The archive libcheckpoint.a.
CHECKPOINT := checkpoint device_room page_out
