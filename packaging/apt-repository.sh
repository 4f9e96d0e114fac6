#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# apt-repository.sh DEBS OUT KEY: makes of the packages in the folder DEBS a repository of apt in
# the folder OUT, signed with the key KEY of this user's gpg. OUT gets the packages, their index,
# the public key, and wormhole.sources, which goes into /etc/apt/sources.list.d of each machine.
# Run it again for new packages: what is in OUT stays available.
set -eu
debs=$1 out=$2 key=$3
die() { echo "wormhole: error: $*" >&2; exit 1; }

for p in gpg:gnupg dpkg-scanpackages:dpkg-dev; do
	command -v "${p%:*}" >/dev/null || die "no ${p%:*} here: apt-get install ${p#*:}"
done
ls "$debs"/*.deb >/dev/null 2>&1 || die "no packages in $debs: make deb"
[ -n "$key" ] || die "KEY= is missing: a key for signing of \`gpg --list-secret-keys', or make one by \`gpg --quick-generate-key NAME'"
gpg --batch --list-secret-keys "$key" >/dev/null 2>&1 || die "KEY='$key': gpg has no such secret key: gpg --list-secret-keys"
mkdir -p "$out"
out=$(cd "$out" && pwd)
cp "$debs"/*.deb "$out/"
cd "$out"
dpkg-scanpackages --multiversion . >Packages 2>scan.log || { cat scan.log >&2; exit 1; }
rm scan.log
xz -kf Packages
{
	printf 'Origin: Wormhole\nLabel: Wormhole\nArchitectures: amd64\nDate: %s\nSHA256:\n' \
		"$(LC_ALL=C date -Ru)"
	for f in Packages Packages.xz; do
		echo " $(sha256sum "$f" | cut -d' ' -f1) $(stat -c %s "$f") $f"
	done
} >Release
# apt reads InRelease. It takes its place when all that it names is there.
gpg --batch --yes --local-user "$key" --clearsign --output InRelease.new Release
gpg --batch --yes --armor --output wormhole.asc --export "$key"
cat >wormhole.sources <<END
Types: deb
URIs: file:$out
Suites: ./
Signed-By: /etc/apt/keyrings/wormhole.asc
END
mv InRelease.new InRelease
rm Release
echo "$out: $(grep -c '^Package: ' Packages) packages, signed; wormhole.sources says where it is (URIs)"
