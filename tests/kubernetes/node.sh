# SPDX-License-Identifier: Apache-2.0
# The tests of the device plugin source this file after tests/tenant/lib.sh, or after tests/cdi/lib.sh.
# They have a kubelet, and a plugin between this and the server.
[ "$(id -u)" = 0 ] || skip_all "not root: no tenant of root's"
plugin=$WH_BUILD/kubernetes/wormhole-device-plugin
py=/usr/bin/python3
$py -c 'import grpc, google.protobuf' 2>"$tmp/import" || skip_all "a Python module is missing: $(tail -n 1 "$tmp/import")"
need_built "$plugin" "$WH_BUILD/kubernetes/deviceplugin_pb2.py"
PATH=$WH_BUILD/host:$PATH
cdi_dir=${cdi_dir:-$tmp/cdi}
mkdir -p "$cdi_dir"
given=$tmp/kubelet/plugins/device-plugin.wormhole.invalid/containers.json

node() { $py "$WH_TOP/tests/kubernetes/node_kubelet.py" "$tmp" "$@" 2>&1; }
plug() {
	$py -B "$plugin" --dir "$WORMHOLE_DIR" --kubelet "$tmp/kubelet" --cdi-dir "$cdi_dir" --period 0.2 \
		--settle "${settle:-0}" 2>>"$tmp/plugin" &
	plugging=$!
	node await_plugins >"$tmp/registered"
}
# The shell would say of a process that was killed that it was.
end_plugin() { { kill "-$1" $plugging && wait $plugging; } 2>/dev/null; }

# A test with by_itself=1 has its own kubelet.
[ -n "$by_itself" ] && return
$py "$WH_TOP/tests/kubernetes/node_kubelet.py" "$tmp" serve 2>"$tmp/kubelet.log" &
kubelet=$!
await test -S "$tmp/kubelet.control" || { echo "Bail out! no kubelet: $(tail -n 1 "$tmp/kubelet.log")"; exit 1; }
