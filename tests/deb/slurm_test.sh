#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the way to Slurm in docs/cluster.md works, from packages in a bare Debian
# 12. It runs the lines of the text itself, one by one.
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no chroot"
for d in host libraries slurm; do
	ls "$build/deb/wormhole-${d}"_*.deb >/dev/null 2>&1 || skip_all "no packages: make deb"
done
program=$build/examples/shared/vectorAdd
need_built "$program"
. "$top/tests/deb/bare.sh"

plan 8
host=$(hostname -s)
echo "127.0.0.1 localhost $host" >"$root/etc/hosts"
echo "$host" >"$root/etc/hostname"
mount --rbind /sys "$root/sys"
# The root must be a mount, because the plugin changes how it is mounted.
mount --rbind "$root" "$root"
# A machine that has booted has this folder.
mkdir "$root/run/lock"
cp "$program" "$root/srv/train"
sed -n '/^### One machine/,/^### Several/s/^    //p' "$top/docs/cluster.md" >"$tmp/lines"
# as_root and as_user run a line of the text, changed for what this machine lacks: a GPU, and an
# answer to apt's question.
as_root() { inside "$(echo "$1" | sed 's/^wormhole serve/& --backend softgpu/')"; }
as_user() { inside "cd /srv; setpriv --reuid 65534 --regid 65534 --clear-groups $1"; }
last=$(tail -n 1 "$tmp/lines")
failed=
while read -r line; do
	[ "$line" != "$last" ] || continue
	# The output goes into a file, not a pipe, because a daemon keeps it open.
	as_root "$line" >"$tmp/out" 2>&1 || { failed="$line: $(tail -n 3 "$tmp/out")"; break; }
	case $line in "wormhole slurm conf") printed=$(cat "$tmp/out");; esac
done <"$tmp/lines"
is each_line_of_the_page_does_its_work "$failed" ""
is example_has_what_is_printed_for_such_a_device "$(grep -c "$(echo "$printed" | grep ^Gres=)" "$root/etc/slurm/slurm.conf")" 1
idle() { inside "sinfo -h -o %t" | grep -qx idle; }
await idle
is node_is_ready "$(inside 'sinfo -h -o "%t %G"')" "idle gpumem:512,gpusm:100"
like srun_has_the_options "$(inside 'srun --help')" "--gpu-mem=SIZE"
out=$(as_user "$last")
like and_runs_a_program_as_a_tenant "$? $out" "^0 .*"
like that_computes "$out" "vectorAdd: PASS"
out=$(as_user "srun --gpu-mem=600M ./train")
like more_than_there_is_is_refused "$out" "not available"
inside 'service slurmd stop; service slurmctld stop; service munge stop; wormhole stop --force' >"$tmp/log"
inside "apt-get purge -y wormhole-slurm" >"$tmp/log"
rc=$?
# More than one mount is below it.
trap 'umount -l -R "$root"; umount -l "$tmp"' EXIT
is package_leaves_nothing "$rc $(find "$root/etc/slurm/plugstack.conf.d" "$root/usr/lib/wormhole/slurm" -type f 2>/dev/null)" "0 "
finish
