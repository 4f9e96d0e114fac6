# SPDX-License-Identifier: Apache-2.0
# The tests of containers source this file, with WH_TOP and WH_BUILD set. They run in namespaces of
# their own, so that all that they mount and start ends with them. It makes the image: busybox, this
# machine's C library and three programs; `box' runs it. With roots_only=1 there are no containers of
# a user's.
. "$WH_TOP/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no folders of podman's own"
for p in podman crun newuidmap busybox setpriv; do
	command -v $p >/dev/null || skip_all "no $p here"
done
program=$WH_BUILD/examples/shared/vectorAdd
fixed=$WH_BUILD/examples/static/vectorAdd
need_built "$program" "$fixed"
[ "$inside" = inside ] || exec unshare -m -p -f --mount-proc --kill-child "$0" inside
. "$WH_TOP/tests/tenant/lib.sh"
need_built "$client"

# crun only supports cgroups of version 2; the test makes its own user and specifications.
umount -R /sys/fs/cgroup 2>/dev/null
mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null || [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ] ||
	skip_all "no cgroups of version 2"
mkdir -p /run/cdi /etc/cdi
mount -t tmpfs -o mode=755 cdi /run/cdi && mount -t tmpfs cdi /etc/cdi ||
	skip_all "nothing may be mounted here"
uid=64123
for f in passwd group subuid subgid; do
	cp /etc/$f "$tmp/$f" 2>/dev/null || : >"$tmp/$f"
	[ -e /etc/$f ] || : >/etc/$f
done
echo "whcdi:x:$uid:$uid::$tmp/home:/bin/sh" >>"$tmp/passwd"
echo "whcdi:x:$uid:" >>"$tmp/group"
echo "whcdi:700000:65536" | tee -a "$tmp/subuid" >>"$tmp/subgid"
for f in passwd group subuid subgid; do mount --bind "$tmp/$f" /etc/$f; done
mkdir "$tmp/home" "$tmp/run"
chown $uid:$uid "$tmp/home" "$tmp/run"
chmod 700 "$tmp/run"

mkdir -p "$tmp/image/bin" "$tmp/image/lib64" "$tmp/image/lib/x86_64-linux-gnu" "$tmp/image/tmp"
cp "$(command -v busybox)" "$tmp/image/bin/"
for f in sh ls cat env find; do ln -s busybox "$tmp/image/bin/$f"; done
cp /lib64/ld-linux-x86-64.so.2 "$tmp/image/lib64/"
for f in c m dl rt pthread stdc++ gcc_s; do cp /lib/x86_64-linux-gnu/lib$f.so.* "$tmp/image/lib/x86_64-linux-gnu/"; done
cp "$program" "$tmp/image/bin/program"
cp "$fixed" "$tmp/image/bin/static"
cp "$client" "$tmp/image/bin/client"

roots() { podman --storage-driver vfs --root "$tmp/storage" --runroot "$tmp/runroot" "$@"; }
users() {
	(cd "$tmp/home" && setpriv --reuid $uid --regid $uid --init-groups env -i "PATH=$PATH" "HOME=$tmp/home" \
		"XDG_RUNTIME_DIR=$tmp/run" podman --storage-driver vfs "$@")
}
# box ENGINE OPTIONS... -- COMMAND... runs a container.
box() {
	engine=$1
	shift
	options=
	while [ "$1" != -- ]; do options="$options $1"; shift; done
	shift
	# shellcheck disable=SC2086
	$engine run --rm --runtime crun --cgroups=disabled --network=none --ulimit nofile=1024:1024 \
		--ulimit nproc=1000:1000 --security-opt seccomp=unconfined $options "${image:-wormhole-test}" "$@" 2>&1
}
tar -C "$tmp/image" -c . >"$tmp/image.tar"
roots import "$tmp/image.tar" wormhole-test >"$tmp/import" 2>&1 || skip_all "podman: $(tail -n 1 "$tmp/import")"
chmod 644 "$tmp/image.tar"
[ -n "${roots_only:-}" ] || users import "$tmp/image.tar" wormhole-test >"$tmp/import" 2>&1 ||
	skip_all "podman of a user: $(tail -n 1 "$tmp/import")"
out=$(box roots -- /bin/ls /bin) || skip_all "podman runs nothing here: $out"
