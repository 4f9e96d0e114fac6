#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that `make apt-repository` makes of a folder of packages what apt of a bare
# Debian 12 installs from, if the administrator's key has signed it.
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no chroot"
command -v gpg >/dev/null || skip_all "no gpg here"
command -v dpkg-scanpackages >/dev/null || skip_all "no dpkg-scanpackages here: dpkg-dev"
ls "$build/deb/wormhole-host"_*.deb >/dev/null 2>&1 || skip_all "no packages: make deb"
. "$top/tests/deb/bare.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL

export GNUPGHOME="$tmp/gpg"
mkdir -m 700 "$GNUPGHOME"
repository() { make -s -C "$top" O="$build" apt-repository APT="$root/srv/wormhole" "$@" 2>&1; }
# update prints what apt refuses.
update() { inside 'apt-get update' | grep '^[EW]:'; }

plan 10
like without_gpg_its_package_is_named "$(PATH=/nowhere /bin/sh "$top/packaging/apt-repository.sh" "$build/deb" "$tmp/none" admin 2>&1)" \
	"no gpg here: apt-get install gnupg"
like without_a_key_there_is_none "$(repository)" "KEY= is missing"
like nor_with_one_that_gpg_has_not "$(repository KEY=nobody)" "KEY='nobody': gpg has no such secret key"
gpg --batch --quiet --passphrase '' --quick-generate-key 'admin <admin@example.org>' 2>"$tmp/log"
like one_command_makes_it "$(repository KEY=admin@example.org)" "/srv/wormhole: 8 packages, signed"
# The machine sees the folder by another name.
mkdir -p "$root/etc/apt/keyrings"
cp "$root/srv/wormhole/wormhole.asc" "$root/etc/apt/keyrings/"
sed "s|$root||" "$root/srv/wormhole/wormhole.sources" >"$root/etc/apt/sources.list.d/wormhole.sources"
is apt_takes_it "$(update)" ""
out=$(inside 'cd /; apt-get install -y wormhole-host')
like and_installs_by_name "$? $out" "^Setting up wormhole-libraries"
inside 'dpkg -P wormhole-host wormhole-libraries' >"$tmp/log"
like another_run_keeps_it_current "$(repository KEY=admin@example.org)" "8 packages, signed"
is and_apt_takes_that "$(update)" ""
gpg --batch --quiet --passphrase '' --quick-generate-key 'other <other@example.org>' 2>"$tmp/log"
repository KEY=other@example.org >"$tmp/log"
like what_another_key_has_signed_is_refused "$(update)" "NO_PUBKEY\|not signed"
repository KEY=admin@example.org >"$tmp/log"
sed -i '$a Package: evil' "$root/srv/wormhole/Packages"
rm "$root/srv/wormhole/Packages.xz"
inside 'rm -rf /var/lib/apt/lists/*srv*'
like as_is_an_index_that_was_changed "$(update)" "Hash Sum mismatch\|unexpected size"
gpgconf --kill all
finish
