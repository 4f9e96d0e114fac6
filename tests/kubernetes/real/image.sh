#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The script promises that podman builds the image of packaging/kubernetes/Containerfile from the packages of
# `make deb`, that a registry with a certificate takes it, and that what a node pulls from there has what the
# manifests run. The commands are those of docs/kubernetes.md. The registry is Debian's docker-registry; it has
# the name registry.example in the script's namespace alone. BASE names a tarball of a Debian 12 to build on; without
# it mmdebstrap makes one. OUT names a file that gets the image, for manifests.sh.
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
PATH=$PATH:/usr/sbin
[ "$(id -u)" = 0 ] || skip_all "not root: no namespace with a registry's name"
for p in podman docker-registry openssl mmdebstrap kubectl; do
	command -v $p >/dev/null || skip_all "no $p here (tests/kubernetes/real/README.md)"
done
ls "$build"/deb/wormhole-kubernetes_*.deb >/dev/null 2>&1 || skip_all "no packages: make deb"
[ "${1:-}" = inside ] || exec unshare -m -p -f --mount-proc --kill-child "$0" inside

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
name=registry.example
image=$name/wormhole:0.1
log=$tmp/log

# --- A registry ------------------------------------------------------------------------------------------
# podman's images are in a folder of the script's own.
cat >"$tmp/storage.conf" <<END
[storage]
driver = "overlay"
graphroot = "$tmp/images"
runroot = "$tmp/run"
END
export CONTAINERS_STORAGE_CONF="$tmp/storage.conf"
# Here may be no cgroups of version 2 for an engine, and no bridge. The steps of a build need neither.
export BUILDAH_ISOLATION=chroot
umount -R /sys/fs/cgroup 2>/dev/null
mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
{ cat /etc/hosts && echo "127.0.0.2 $name"; } >"$tmp/hosts"
mount --bind "$tmp/hosts" /etc/hosts
mkdir -p "$tmp/certs/$name" /etc/containers/certs.d
mount --bind "$tmp/certs" /etc/containers/certs.d
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$name" \
	-addext "subjectAltName=DNS:$name" -keyout "$tmp/key" -out "$tmp/certificate" 2>>"$log"
cat >"$tmp/registry.yaml" <<END
version: 0.1
storage: {filesystem: {rootdirectory: "$tmp/registry"}}
http: {addr: "127.0.0.2:443", tls: {certificate: "$tmp/certificate", key: "$tmp/key"}}
END
docker-registry serve "$tmp/registry.yaml" >"$tmp/registry.log" 2>&1 &
registry=$!
answers() { openssl s_client -connect 127.0.0.2:443 -servername $name </dev/null; }
await answers || { echo "Bail out! no registry: $(tail -n 1 "$tmp/registry.log")"; exit 1; }
in_registry() { find "$tmp/registry" -path '*/wormhole/_manifests/tags/*' -name current 2>/dev/null | wc -l; }
runs() { podman run --rm --pull=never --network=none --cgroups=disabled --runtime=crun --security-opt seccomp=unconfined "$image" "$@" 2>&1; }

plan 11
[ -n "$BASE" ] || BASE=$tmp/base.tar && [ -e "$BASE" ] ||
	mmdebstrap --quiet --variant=minbase bookworm "$BASE" "$top/tests/deb/bookworm.list" >>"$log" 2>&1
podman import "$BASE" localhost/debian:12 >>"$log" 2>&1
cd "$top" || exit
podman build --build-arg BASE=localhost/debian:12 -f packaging/kubernetes/Containerfile -t $image "$build/deb" >>"$log" 2>&1
is image_is_built "$?" 0
like server_is_what_it_runs "$(podman inspect -f '{{.Config.Cmd}}' $image)" '^\[wormhole serve\]$'
for p in wormhole wormhole-kubernetes wormhole-device-plugin; do
	like "${p}_runs_in_it" "$(runs $p --help)" "^[Uu]sage: $p "
done
is hosts_command_is_in_the_folder_that_nodes_get "$(runs readlink -f /usr/bin/wormhole)" /usr/lib/wormhole/bin/wormhole

like registry_whose_certificate_is_unknown_gets_nothing "$(podman push $image 2>&1; in_registry)" "certificate signed by unknown authority"
cp "$tmp/certificate" "$tmp/certs/$name/ca.crt"
podman push $image >>"$log" 2>&1
is with_its_certificate_the_image_is_pushed "$? $(in_registry)" "0 1"
was=$(podman inspect -f '{{.Id}}' $image)
podman rmi $image >>"$log" 2>&1
podman pull $image >>"$log" 2>&1
is what_is_pulled_is_the_same "$(podman inspect -f '{{.Id}}' $image)" "$was"
is manifests_name_it "$(kubectl kustomize packaging/kubernetes/claims | sed -n 's/^ *image: //p' | sort -u)" $image
like pulled_it_runs "$(runs wormhole --version)" "^wormhole "
[ -z "$OUT" ] || podman save -o "$OUT" $image >>"$log" 2>&1
[ "$tap_failed" = 0 ] || diag "$(tail -n 20 "$log" "$tmp/registry.log")"
kill $registry
finish
