#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that Docker's containers are clients of tenants by the same devices as podman's,
# with runc. It needs a Docker that reads specifications (25 and later) and its own daemon, which
# it starts: docker, dockerd, containerd and runc, of the PATH or unpacked in the folder WH_DOCKER.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
inside=${1:-}
PATH=$PATH${WH_DOCKER:+:$WH_DOCKER/usr/bin:$WH_DOCKER/usr/sbin:$WH_DOCKER/bin:$WH_DOCKER/sbin}
. "$WH_TOP/tests/cdi/lib.sh"
for p in docker dockerd containerd runc; do
	command -v $p >/dev/null || skip_all "no $p here, nor in WH_DOCKER"
done

export DOCKER_HOST="unix://$tmp/docker.sock"
echo '{"features":{"cdi":true},"cdi-spec-dirs":["/run/cdi"]}' >"$tmp/daemon.json"
dockerd --config-file "$tmp/daemon.json" --data-root "$tmp/docker" --exec-root "$tmp/exec" -H "$DOCKER_HOST" \
	--pidfile "$tmp/docker.pid" --iptables=false --ip6tables=false --bridge=none --storage-driver vfs >"$tmp/dockerd" 2>&1 &
daemon=$!
await eval "docker info || ! kill -0 $daemon"
docker info >/dev/null 2>&1 || skip_all "no daemon of Docker: $(tail -n 1 "$tmp/dockerd")"
docker info 2>/dev/null | grep -q 'CDI spec' || skip_all "this Docker reads no specifications: it is older than 25"
docker import "$tmp/image.tar" wormhole-test >"$tmp/import" 2>&1 || skip_all "docker: $(tail -n 1 "$tmp/import")"
# run OPTIONS... -- COMMAND... runs a container.
run() {
	options=
	while [ "$1" != -- ]; do options="$options $1"; shift; done
	shift
	# shellcheck disable=SC2086
	docker run --rm --network none $options wormhole-test "$@" 2>&1
}
out=$(run -- /bin/ls /bin) || skip_all "docker runs nothing here: $out"

serve || { echo "Bail out! no server: $(tail -n 1 "$tmp/serve")"; exit 1; }
"$wormhole" tenant create alpha --mem 64M --sm 30
"$wormhole" cdi alpha >/dev/null
"$wormhole" cdi --share gamma --mem 40M >/dev/null
"$wormhole" cdi --share web --hami --mem 64M --sm 50 >/dev/null
alpha="--device wormhole/tenant=alpha"
web="--device wormhole/share=web"
tenants() { "$wormhole" tenant list | grep -c '^web'; }

plan 12
like program_runs_in_an_unmodified_image "$(run $alpha -- /bin/program)" "vectorAdd: PASS"
like so_does_one_with_a_static_runtime "$(run $alpha -- /bin/static)" "vectorAdd: PASS"
like without_the_device_it_finds_no_cuda "$(run -- /bin/program)" "libcudart.so.13: cannot open"
is it_has_its_tenants_memory "$(run $alpha -- /bin/client info | cut -d" " -f2)" "$((64 << 20))"
is it_sees_its_socket_alone "$(run $alpha -- /bin/find / -type s)" "/run/wormhole/tenant.sock"
# shellcheck disable=SC2046
is options_do_the_same_without_a_specification "$(run $("$wormhole" cdi --options alpha) -- /bin/client info | cut -d" " -f2)" "$((64 << 20))"
is a_share_makes_its_tenant "$(run --device wormhole/share=gamma -- /bin/client info | cut -d" " -f2)" "$((40 << 20))"
is hamis_variables_say_a_containers_limits "$(run $web --env CUDA_DEVICE_MEMORY_LIMIT=20m -- /bin/client info | cut -d" " -f2)" "$((20 << 20))"
is and_no_more_than_the_device_has "$(run $web --env CUDA_DEVICE_MEMORY_LIMIT=1g -- /bin/client info | cut -d" " -f2)" "$((64 << 20))"
is it_sees_its_own_socket_alone "$(run $web -- /bin/find / -type s)" "/run/wormhole/tenant.sock"
like docker_shows_why_a_container_does_not_start "$(run $web --env CUDA_DEVICE_SM_LIMIT=half -- /bin/program)" \
	"CUDA_DEVICE_SM_LIMIT='half' is not a percentage"
ok a_container_that_has_ended_has_no_tenant await eval '[ "$(tenants)" = 0 ]'
kill $daemon
wait $daemon 2>/dev/null
finish
