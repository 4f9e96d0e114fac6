# SPDX-License-Identifier: Apache-2.0
# The program wormhole-server.
DAEMON := main front monitor children worker log admit hang_up loop sockets tenants control control_look request probe versions judge
DAEMON += isolation uids namespaces code_cache notes places ranks usage cdi parts environment faults uid_range
DAEMON += crash drain starts handover tenants_handover log_file service keep keep_handover shares devices contexts suspend move room lend
