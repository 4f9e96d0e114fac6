# SPDX-License-Identifier: Apache-2.0
# The archive libsession.a, one area a line; gen_server.c is generated.
SESSION := session dispatch callers backend context records hostblock hostvmm lent reach
SESSION += init module image launch traced copy query managed limited
SESSION += device event graph graph_exec callback output library box held choice warm resource room
# Files that only libwormhole-session.so contains besides.
SESSION_SO := foreign
