# SPDX-License-Identifier: Apache-2.0
# Whoever starts servers from a build folder sources this file, with WH_BUILD set. Workers of
# root's server run as other users, who must be able to reach what is built. Where they cannot (a
# clone in /root), workers run as root.
[ "$(id -u)" != 0 ] || setpriv --reuid 65534 --clear-groups test -r "$WH_BUILD" ||
	export WORMHOLE_WORKER_UID=none
