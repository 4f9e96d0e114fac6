#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Writes the whole series as it goes to a mailing list: export.sh OUT. OUT, new or empty,
# gets the cover letter, the KVM patches as they are stored here, those of the
# selftests, and `series`, the patches' names in order. The same sources give the same
# bytes, whoever runs it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: export.sh OUT}
mkdir -p "$out"
out=$(cd "$out" && pwd)
[ -z "$(ls -A "$out")" ] || { echo "export.sh: $out is not empty" >&2; exit 2; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
"$here/get-files.sh" "$tree"

# Nothing of the machine's git: name, date and time zone are the first patch's.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
header() { git mailinfo /dev/null /dev/null <"$here/$(head -n1 "$here/series")" | sed -n "s/^$1: //p"; }
GIT_AUTHOR_NAME=$(header Author)
GIT_AUTHOR_EMAIL=$(header Email)
GIT_AUTHOR_DATE=$(header Date)
GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME
GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
export GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE

in_tree() { git -C "$tree" "$@"; }
in_tree -c init.defaultBranch=series init -q --template=
in_tree config core.abbrev 7
in_tree config branch.series.description "$(cat "$here/cover-letter.txt")"
in_tree add -f .
in_tree commit -q -m base
in_tree tag base
"$here/apply.sh" "$tree"
in_tree format-patch -q -o "$out" --zero-commit --no-signature \
	--cover-letter --cover-from-description=subject base
(cd "$out" && ls ./*.patch) | sed -n 's|^\./||; /^0000-/!p' >"$out/series"

# What is stored was reviewed and tested as it stands; it gets its number alone.
exec 3<"$out/series"
while read -r patch; do
	read -r name <&3
	number=$(sed -n '1,/^$/s|^Subject: \[PATCH \([0-9/]*\)\].*|\1|p' "$out/$name")
	sed "1,/^\$/s|^\(Subject: \[PATCH \)[0-9/]*|\1$number|" "$here/$patch" >"$out/$name.new"
	mv "$out/$name.new" "$out/$name"
done <"$here/series"
