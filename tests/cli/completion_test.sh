#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises that bash, with the script of `wormhole completion bash`, completes the
# options in the commands' own help, and their values.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
wormhole=$WH_BUILD/host/wormhole
export WORMHOLE_DIR=/nonexistent
script=$("$wormhole" completion bash)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
touch "$tmp/a.ptx"
mkdir "$tmp/folder"
# complete_words WORD... prints what the last word completes to. compopt changes only readline's
# own settings, which do not matter here.
compopt() { :; }
eval "$script"
complete_words() {
	COMP_WORDS=(wormhole "$@")
	COMP_CWORD=$#
	_wormhole
	echo "${COMPREPLY[@]}"
}
# of_help COMMAND prints the long options of a help text.
of_help() {
	# shellcheck disable=SC2086
	"$wormhole" $1 --help | sed -n 's/^ *\(-[a-z], \)\{0,1\}--\([a-z-]*\).*/\2/p' | grep -v -x -e usage -e help | sort
}
of_completion() {
	# shellcheck disable=SC2086
	complete_words $1 -- | tr ' ' '\n' | sed 's/^--//; s/=$//' | grep -v -x help | sort
}

plan 17
is script_is_bash "$(bash -n <<<"$script" 2>&1; echo $?)" 0
is every_command_is_completed "$(complete_words '' | tr ' ' '\n' | sort)" \
	"$("$wormhole" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort)"
wrong=
while read -r c; do
	[ "$(of_completion "$c")" = "$(of_help "$c")" ] || wrong="$wrong;$c"
done < <(sed -n "s/^_wormhole_options\['wormhole \(.*\)'\]=.*/\1/p" <<<"$script")
is every_option_of_every_command_is_completed "$wrong" ""
is commands_of_commands_are_completed "$(complete_words tenant '')" "create delete list check export import"
is a_command_is_completed_from_its_begin "$(complete_words me)" metrics
is an_option_that_takes_a_value_gets_its_sign "$(complete_words run --sm-p)" --sm-policy=
is a_value_is_completed "$(complete_words run --sm-policy = sp)" spatial
is also_where_bash_gives_the_sign_alone "$(complete_words run --sm-policy =)" "temporal spatial both"
is and_behind_a_space "$(complete_words server start --machine '')" "q35 microvm"
is a_files_name_is_completed "$(cd "$tmp" && complete_words trace --output = a)" a.ptx
is a_folders_is_where_one_is_wanted "$(cd "$tmp" && complete_words stat --dir = '')" folder
is a_choice_of_arguments_is_completed "$(complete_words check p)" programs
is a_program_is_a_command "$(complete_words run setpr | cut -d" " -f1)" setpriv
is behind_its_limits_too "$(complete_words run --mem = 2G setpr | cut -d" " -f1)" setpriv
is its_arguments_are_files "$(cd "$tmp" && complete_words run --mem = 2G -- true a)" a.ptx
is a_command_behind_a_tenant_too "$(complete_words trace team setpr | cut -d" " -f1)" setpriv
is without_a_server_there_are_no_tenants "$(complete_words limit '')" ""
finish
