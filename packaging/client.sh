# SPDX-License-Identifier: Apache-2.0
# For login shells: programs with a static CUDA runtime, and libraries that are looked
# for by a path of their own, as in Python packages. A unit has the same by
# EnvironmentFile=/usr/lib/wormhole/client/client.env
while IFS= read -r wormhole_line; do
	export "${wormhole_line?}"
done </usr/lib/wormhole/client/client.env
unset wormhole_line
