#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the man page and --help say the same: the page has each command's long
# options, no more and no fewer. The page is sound.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
wormhole=$WH_BUILD/host/wormhole
page=$WH_TOP/host/wormhole.1

# of_help COMMAND prints the long options of a help text, without those that argp adds.
of_help() {
	# shellcheck disable=SC2086
	"$wormhole" $1 --help | sed -n 's/^ *\(-[a-z], \)\{0,1\}--\([a-z-]*\).*/\2/p' |
		grep -v -x -e usage -e help | sort
}

# of_page COMMAND prints the long options in the page's section on a command: `.BR \-x ", "
# \-\-long` lines.
of_page() {
	awk -v want="$1" '
		/^\.SS wormhole / {
			heading = $0; gsub(/\\/, "", heading)
			if (!last) on = 0
			if (index(heading " ", ".SS wormhole " want " ") == 1) on = 1
			last = 1; next
		}
		/^\.S[HS]/ { on = 0 }
		{ last = 0 }
		on && /^\.B/ && /\\-\\-/ {
			gsub(/\\/, "")
			n = split($0, option, "--")
			for (i = 2; i <= n; i++) { sub(/[=\[ "].*/, "", option[i]); if (option[i] != "") print option[i] }
		}' "$page" | sort
}

commands() { "$wormhole" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'; }
page_commands() {
	sed -n 's/^\.SS wormhole \([a-z]*\).*/\1/p' "$page" | awk '!seen[$0]++'
}

plan 27
for c in serve stop run trace limit "tenant create" "tenant delete" "tenant list" "tenant check" "tenant export" "tenant import" cdi "image gpu" "server start" \
	"client start" "client exec" "xml client" allow deny kill stat check top metrics logs; do
	help=$(of_help "$c")
	[ "$c" = "server start" ] && help=$(printf '%s\n' "$help" accel dir part-size programs ring tenant | sort)
	[ "$c" = "client start" ] && help=$(printf '%s\n' "$help" gpu limit rebind | sort)
	[ "$c" = "xml client" ] && help=$(printf '%s\n' "$help" gpu limit | sort)
	is "options_of_$(echo "$c" | tr ' ' _)_are_documented" "$(of_page "$c")" "$help"
done
is every_command_has_a_section "$(page_commands | sort)" "$(commands | sort)"
is page_has_no_warnings "$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)" ""
finish
