# SPDX-License-Identifier: Apache-2.0
# The scripts beside this file source it, with WH_TOP and WH_BUILD set. They have a cluster of one node that is
# real: etcd, an API server with RBAC, a scheduler, controllers, a kubelet and containerd, whose programs are in
# the folders of KUBERNETES (A:B) or of PATH. All of it runs in namespaces and folders of its own, and ends with
# the script. docs/kubernetes.md says what was run.
. "$WH_TOP/tests/tap.sh"
PATH=${KUBERNETES:+$KUBERNETES:}$WH_BUILD/host:/usr/lib/cni:$PATH
export PATH
[ "$(id -u)" = 0 ] || skip_all "not root: no kubelet"
for p in kubelet kube-apiserver kube-scheduler kube-controller-manager kubectl etcd containerd \
	containerd-shim-runc-v2 ctr runc bridge host-local openssl ip iptables busybox; do
	command -v $p >/dev/null || skip_all "no $p: give its folder in KUBERNETES (tests/kubernetes/real/README.md)"
done
program=$WH_BUILD/examples/shared/vectorAdd
need_built "$program" "$WH_BUILD/kubernetes/dra_pb2.py"

# --- Namespaces ------------------------------------------------------------------------------------------
# The kubelet's cgroups are below one of our own, which is removed when all of its processes have ended.
hierarchies() { findmnt -n -r -o TARGET -t cgroup,cgroup2; }
if [ "$inside" != inside ]; then
	export WH_CGROUP="wormhole-real-$$"
	TMPDIR=$(mktemp -d)
	export TMPDIR
	chmod 755 "$TMPDIR"
	trap : HUP INT TERM		# who stops the script stops unshare, too
	for h in $(hierarchies); do mkdir "$h/$WH_CGROUP"; done
	unshare -m -p -n -u -f --mount-proc --kill-child "$0" inside
	status=$?
	for h in $(hierarchies); do find "$h/$WH_CGROUP" -depth -type d -exec rmdir {} +; done
	rm -rf "$TMPDIR"
	exit $status
fi
. "$WH_TOP/tests/tenant/lib.sh"
need_built "$client"
# What is mounted from the folder ends with the namespaces, and the folder is removed after that.
clean_up() { "$wormhole" stop --force >/dev/null 2>&1; }
logs=${LOGS:-$tmp/logs}
mkdir -p "$logs" "$tmp/up"
hostname n1
mount -t tmpfs -o mode=755 run /run
for d in etc var usr; do
	mkdir "$tmp/up/$d" "$tmp/up/$d.work"
	mount -t overlay -o "lowerdir=/$d,upperdir=$tmp/up/$d,workdir=$tmp/up/$d.work" overlay /$d ||
		skip_all "no overlay may be mounted on /$d"
done
mount --make-rshared /
mkdir -p /var/lib/kubelet /etc/cni/net.d /etc/cdi /run/cdi /run/containerd
node=10.88.0.1
ip link set lo up
ip link add node type bridge && ip addr add $node/24 dev node && ip link set node up || skip_all "no bridge"
# Pods reach the API server by its service's address. Nothing forwards that, so the address is the node's.
ip addr add 10.96.0.1/32 dev lo
sysctl -q net.ipv4.ip_forward=1

# within SECONDS COMMAND... runs a command until it succeeds.
within() {
	within_end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt $within_end ] || return 1
		sleep 0.2
	done
}
bail() {
	echo "Bail out! $1: $(tail -n 3 "$logs/$2" | cut -c 1-600)"
	exit 1
}

# --- Certificates and accounts -----------------------------------------------------------------------------
pki=$tmp/pki
mkdir "$pki"
# certificate NAME SUBJECT [EXTENSION] is signed by the cluster's authority.
certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$pki/$1.key" -subj "$2" \
		${3:+-addext "$3"} -out "$pki/$1.csr" &&
	openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 2 \
		-copy_extensions copyall -out "$pki/$1.crt"
} 2>>"$logs/openssl"
# account NAME SUBJECT makes a file for --kubeconfig.
account() {
	certificate "$1" "$2"
	kubeconfig "$1" --client-certificate="$pki/$1.crt" --client-key="$pki/$1.key" --embed-certs
}
# kubeconfig NAME CREDENTIALS...
kubeconfig() {
	kubeconfig=$tmp/$1.conf
	shift
	KUBECONFIG=$kubeconfig
	export KUBECONFIG
	kubectl config set-cluster real --server=https://$node:443 --certificate-authority="$pki/ca.crt" --embed-certs
	kubectl config set-credentials me "$@"
	kubectl config set-context real --cluster=real --user=me
	kubectl config use-context real
} >>"$logs/kubeconfig" 2>&1
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$pki/ca.key" -out "$pki/ca.crt" \
	-days 2 -subj /CN=real 2>>"$logs/openssl"
openssl genrsa -out "$pki/sa.key" 2048 2>>"$logs/openssl"
certificate server /CN=kube-apiserver "subjectAltName=IP:$node,IP:10.96.0.1,IP:127.0.0.1,DNS:kubernetes.default.svc"
account node /O=system:nodes/CN=system:node:n1
account scheduler /CN=system:kube-scheduler
account controllers /CN=system:kube-controller-manager
account admin /O=system:masters/CN=admin

# --- The cluster -------------------------------------------------------------------------------------------
start_etcd() {
	etcd --data-dir "$tmp/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
		--advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380 >>"$logs/etcd" 2>&1 &
}
start_apiserver() {
	kube-apiserver --etcd-servers=http://127.0.0.1:2379 --authorization-mode=Node,RBAC --allow-privileged \
		--enable-admission-plugins=NodeRestriction --client-ca-file="$pki/ca.crt" \
		--tls-cert-file="$pki/server.crt" --tls-private-key-file="$pki/server.key" --cert-dir="$tmp/certs" \
		--service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$pki/sa.key" \
		--service-account-signing-key-file="$pki/sa.key" --service-cluster-ip-range=10.96.0.0/24 \
		--secure-port=443 --advertise-address=$node --kubelet-preferred-address-types=InternalIP \
		$API_OPTIONS >>"$logs/apiserver" 2>&1 &
	apiserver=$!
}
api_answers() { kubectl get --raw /readyz; }
# The container engine outlives the kubelet, as a unit of its own does.
start_containerd() {
	cat >"$tmp/containerd.toml" <<-END
		version = 3
		root = "$tmp/containerd"
		state = "/run/containerd"
		[grpc]
		address = "/run/containerd/containerd.sock"
		[plugins."io.containerd.cri.v1.images".pinned_images]
		sandbox = "localhost/pause:1"
		# A machine in a machine may lack CAP_SYS_RESOURCE, and lowers no process's score.
		[plugins."io.containerd.cri.v1.runtime"]
		restrict_oom_score_adj = true
		[plugins."io.containerd.cri.v1.runtime".cni]
		bin_dirs = ["$(dirname "$(command -v bridge)")"]
		conf_dir = "/etc/cni/net.d"
		[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
		runtime_type = "io.containerd.runc.v2"
		[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
		BinaryName = "$(command -v runc)"
		SystemdCgroup = false
	END
	cat >/etc/cni/net.d/10-real.conflist <<-'END'
		{"cniVersion": "1.0.0", "name": "real", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true,
		 "ipam": {"type": "host-local", "subnet": "10.244.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]}}]}
	END
	containerd --config "$tmp/containerd.toml" >>"$logs/containerd" 2>&1 &
}
# The kubelet sets parameters of the kernel, which are the machine's. It is shown files in their place; what it
# mounts for pods, containerd sees.
start_kubelet() {
	cat >"$tmp/kubelet.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		cgroupDriver: cgroupfs
		cgroupRoot: /$WH_CGROUP
		failCgroupV1: false
		failSwapOn: false
		resolvConf: ""
		syncFrequency: 5s
		authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
		authorization: {mode: AlwaysAllow}
		evictionHard: {memory.available: 1Mi, nodefs.available: 0%, imagefs.available: 0%, nodefs.inodesFree: 0%}
	END
	for s in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys \
		kernel/keys/root_maxbytes; do
		mkdir -p "$tmp/sysctl/$(dirname $s)"
		cat /proc/sys/$s >"$tmp/sysctl/$s"
	done
	# shellcheck disable=SC2016
	unshare -m --propagation unchanged sh -c '
		mount --make-rprivate /proc
		(cd "$0" && find . -type f) | while read -r s; do mount --bind "$0/$s" "/proc/sys/$s"; done
		exec "$@"' "$tmp/sysctl" kubelet --config "$tmp/kubelet.yaml" --kubeconfig "$tmp/node.conf" \
		--hostname-override n1 --node-ip $node $KUBELET_OPTIONS >>"$logs/kubelet" 2>&1 &
	kubelet=$!
}
start_cluster() {
	start_etcd
	start_apiserver
	start_containerd
	within 120 api_answers || bail "no API server" apiserver
	kube-scheduler --kubeconfig "$tmp/scheduler.conf" --leader-elect=false >>"$logs/scheduler" 2>&1 &
	kube-controller-manager --kubeconfig "$tmp/controllers.conf" --leader-elect=false --root-ca-file "$pki/ca.crt" \
		--use-service-account-credentials --service-account-private-key-file "$pki/sa.key" >>"$logs/controllers" 2>&1 &
	within 60 ctr version || bail "no containerd" containerd
	images
	start_kubelet
	within 120 is_ready || bail "the node is not ready: $(kubectl get nodes 2>&1)" kubelet
	within 60 kubectl get serviceaccount default || bail "no account of pods" controllers
}
is_ready() { kubectl wait --for=condition=Ready node/n1 --timeout=1s; }
# Ends one part, as a machine does that loses it. The shell would say of it that it was killed.
end_part() { { kill "-$1" "$2" && wait "$2"; } 2>/dev/null; }

# --- Images ------------------------------------------------------------------------------------------------
import() { ctr --address /run/containerd/containerd.sock -n k8s.io images import "$1"; }
images() {
	root=$tmp/image
	mkdir -p "$root/bin" "$root/lib64" "$root/lib/x86_64-linux-gnu" "$root/tmp" "$root/etc"
	chmod 1777 "$root/tmp"
	cp "$(command -v busybox)" "$root/bin/"
	for f in sh ls cat env sleep true; do ln -s busybox "$root/bin/$f"; done
	cp /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
	for f in c m dl rt pthread stdc++ gcc_s; do cp /lib/x86_64-linux-gnu/lib$f.so.* "$root/lib/x86_64-linux-gnu/"; done
	cp "$program" "$root/bin/program"
	cp "$client" "$root/bin/client"
	image=localhost/wormhole-test:1
	for i in "pause:1 sleep 2147483647" "wormhole-test:1 sh"; do
		# shellcheck disable=SC2086
		/usr/bin/python3 "$WH_TOP/tests/kubernetes/real/image.py" "$root" "$tmp/image.tar" "localhost/"$i
		import "$tmp/image.tar"
	done
} >>"$logs/images" 2>&1

# --- Pods --------------------------------------------------------------------------------------------------
phase() { kubectl get pod "$1" -o 'jsonpath={.status.phase}'; }
in_phase() { case " $2 " in *" $(phase "$1") "*) return 0;; esac; return 1; }
# ends POD waits until it has ended, and prints what it has said.
ends() {
	within 120 in_phase "$1" "Succeeded Failed" || { kubectl describe pod "$1" | tail -n 15; return 1; }
	kubectl logs "$1" 2>&1 | tee -a "$logs/pods"
}
# events OBJECT prints what the cluster says of an object.
events() { kubectl get events --field-selector "involvedObject.name=$1" -o 'jsonpath={range .items[*]}{.message}{"\n"}{end}'; }
told() { events "$1" | grep -q -e "$2"; }
tells() { within 90 told "$1" "$2"; events "$1"; }
