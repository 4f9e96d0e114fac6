# SPDX-License-Identifier: Apache-2.0
# For login shells: makes programs work that have a static CUDA runtime, or libraries with
# search paths of their own, such as Python packages. A unit gets the same by
# EnvironmentFile=/usr/lib/wormhole/client/client.env
while IFS= read -r wormhole_line; do
	export "${wormhole_line?}"
done </usr/lib/wormhole/client/client.env
unset wormhole_line

# In a shell that outlives the package, each command would complain of the missing libraries. bash
# drops their names before its next prompt. Other shells have no such place.
if [ -n "${BASH_VERSION:-}" ]; then
	wormhole_mind_removal() {
		[ -e /usr/lib/wormhole/client/client.env ] && return
		case ${LD_AUDIT:-} in */wormhole/*) unset LD_AUDIT ;; esac
		case ${LD_PRELOAD:-} in */wormhole/*) unset LD_PRELOAD ;; esac
	}
	case ${PROMPT_COMMAND:-} in
	*wormhole_mind_removal*) ;;
	*) PROMPT_COMMAND="wormhole_mind_removal${PROMPT_COMMAND:+; $PROMPT_COMMAND}" ;;
	esac
fi
