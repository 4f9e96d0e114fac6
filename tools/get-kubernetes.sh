#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts Kubernetes' published OpenAPI schemas of one version into build/kubernetes-schemas, from the
# package kubernetes-validate on PyPI, pinned by hash: the strict form, which knows no other members.
# Without them, tests/kubernetes says so and skips.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${WH_BUILD:-$here/../build}
mkdir -p "$build"
dest=$(cd "$build" && pwd)/kubernetes-schemas
version=1.34.1
hash=6ad909e64c140d883f558949364aeca49637580ae88a9a00b59688ab44aae88d
file=kubernetes_validate/kubernetes-json-schema/v1.34.0-local-strict/_definitions.json

[ "$(cat "$dest/made" 2>/dev/null)" != "$version" ] || exit 0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo "kubernetes-validate==$version --hash=sha256:$hash" >"$tmp/wanted"
echo "  DEPS     schemas of Kubernetes, of kubernetes-validate $version from pypi.org"
if ! { "$here/pip.sh" download --progress-bar off --no-deps \
		--require-hashes --only-binary :all: -d "$tmp/wheel" -r "$tmp/wanted" &&
	/usr/bin/python3 -m zipfile -e "$tmp"/wheel/*.whl "$tmp/all"; } </dev/null >"$tmp/log" 2>&1; then
	echo "warn: no schemas: $(tail -n 1 "$tmp/log"); tests/kubernetes will be skipped" >&2
	exit 0
fi
mkdir -p "$dest"
mv "$tmp/all/$file" "$dest/"
echo "$version" >"$dest/made"
