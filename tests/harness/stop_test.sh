#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that tests with daemons which are stopped from outside, as by a time limit,
# leave no process and no file.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
export WH_TOP WH_BUILD

# stopped NAME [--unread] DAEMON TEST ends a test by TERM once the daemon exists, or stops reading
# its output (`| head`).
stopped() {
	unread=
	[ "$2" != --unread ] || { unread=$2; set -- "$1" "$3" "$4"; }
	[ -x "$WH_BUILD/tests/$3.t" ] || { skip "$1" "build/tests/$3.t is not built"; return; }
	left=$("$WH_TOP/tests/harness/stop.py" $unread "$2" "$WH_BUILD/tests/$3.t")
	case $left in
	ended*) skip "$1" "$3 comes to its end without a $2 here" ;;
	*) is "$1" "$left" "" ;;
	esac
}

plan 8
stopped nothing_stays_of_a_tenants_server wormhole-server tenant/life
stopped not_either_when_nobody_reads_on --unread wormhole-server tenant/life
stopped nor_of_servers_that_are_killed_at_random wormhole-server tenant/kills
stopped nor_of_those_whose_requests_fail wormhole-server tenant/random_faults
stopped nor_of_a_full_disk wormhole-server tenant/faults
stopped nor_of_many wormhole-server many/many
stopped nor_of_libvirt libvirtd cli/libvirt
# This one is stopped in the middle of a job, because a daemon of Slurm that has not written its
# number yet is not found.
stopped nor_of_slurm slurmstepd slurm/jobs
finish
