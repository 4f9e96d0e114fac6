#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Fetches a package of another Debian suite than the machine's, by an apt with a
# configuration of its own:
#
#   debian-download.sh SUITE source|binary PACKAGE[=VERSION] DIR
#
# Afterwards DIR has the upstream tarball of a source package, or the .deb of a binary
# package. The mirror is that of the machine's own apt sources. Nothing in the machine's
# own apt is changed, and apt checks the archive's signature.
set -eu -o pipefail

[ $# = 4 ] || { sed -n '4,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
suite=$1 kind=$2 package=$3
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mkdir -p "$4"
dir=$(cd "$4" && pwd)
apt=$dir/apt

# Prints Debian's mirror, as the machine's own sources name it.
mirror() {
	local codename
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' \
		'Identifier: Packages' 'Origin: Debian' 2>/dev/null |
		sed -n "s/^$codename main //p" | head -n1
}

private_apt() {
	apt-get -q -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=- \
		-o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none "$@"
}

case $kind in
source)	type=deb-src command=(source --download-only --tar-only) ;;
binary)	type=deb command=(download) ;;
*)	echo "error: $kind is neither source nor binary" >&2; exit 2 ;;
esac
uri=$(mirror)
rm -rf "$apt"
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
trap 'rm -rf "$apt"' EXIT
: >"$apt/status"
echo "$type [signed-by=$keyring] ${uri:-http://deb.debian.org/debian} $suite main" >"$apt/sources.list"
cat "$apt/sources.list"
private_apt -o APT::Update::Error-Mode=any update
cd "$dir"
private_apt "${command[@]}" "$package"
