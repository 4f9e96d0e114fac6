#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernel of a server with a GPU is as quiet as the ordinary one, with a disk:
# server_idle.sh's points, on that kernel.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
WH_KERNEL=server-gpu exec "$WH_BUILD/tests/vm/server_idle.t"
