# SPDX-License-Identifier: Apache-2.0
# For login shells: makes programs work that have a static CUDA runtime, or libraries with
# search paths of their own, such as Python packages. A unit gets the same by
# EnvironmentFile=/usr/lib/wormhole/client/client.env
while IFS= read -r wormhole_line; do
	export "${wormhole_line?}"
done </usr/lib/wormhole/client/client.env
unset wormhole_line
