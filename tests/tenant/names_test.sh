#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the name of a tenant means that tenant: a name that nobody made is an
# error, and a tenant that ends is joined by nobody.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

run() { "$wormhole" run --tenant "$@" 2>&1; }

plan 12
serve
like name_that_nobody_made_is_an_error_with_the_next_step "$(run typo -- true; echo "$?")" \
	"no tenant 'typo'.*wormhole tenant create.*--mem none.*
1"
is and_makes_no_tenant "$(files | grep -c typo)" 0
is limits_make_one "$(run new --mem none -- "$client" alloc=4096)" ok
is so_does_its_creation "$("$wormhole" tenant create stays && run stays -- "$client" alloc=4096)" ok
is program_of_a_tenant_that_stays_has_no_connection_to_the_server \
	"$(run stays -- sh -c 'find /proc/self/fd -lname "socket:*" | wc -l')" 0

# The worker is stopped, so the tenant is about to end for as long as the test likes.
start a --tenant ending --mem 64M -- alloc=4096
worker=$(field ending "t['workers'][0]['pid']")
halt "$worker"
await eval '[ "$(ps -o stat= -p $worker | cut -c1)" = T ]'
finish_client a
like program_does_not_join_a_tenant_that_is_ending "$(run ending -- "$client" alloc=4096)" "no tenant 'ending'"
is whose_socket_is_gone "$(files | grep '^ending' | tr '\n' ' ')" "ending.limits ending.usage "
run ending --mem 64M -- "$client" alloc=4096 >"$tmp/next" &
next=$!
await eval '[ "$(ps -o stat= -p $next | cut -c1)" = S ]' && kill -CONT "$worker"
wait $next
is and_the_next_of_its_name_is_another "$(cat "$tmp/next")" ok

# Right behind each of 40 programs comes one that would join it, and then the next of that name.
own=0
refused=0
for _ in $(seq 40); do
	[ "$(run same --mem 64M -- "$client" alloc=4096)" = ok ] && own=$((own + 1))
	case $(run same -- "$client" alloc=4096) in *"no tenant 'same'"*) refused=$((refused + 1)) ;; esac
done
is of_40_programs_in_a_row_each_has_its_own_and_none_joins_its_end "$own $refused" "40 40"

# Whoever has joined keeps the tenant, too.
start first --tenant kept --mem 64M -- alloc=4096
start second --tenant kept -- alloc=4096
finish_client first
await has_workers 1
is tenant_stays_for_a_program_that_has_joined "$(run kept -- "$client" alloc=4096)" ok
finish_client second
ok and_ends_with_it await eval '! files | grep -q kept'
"$wormhole" stop
like without_a_server_that_is_what_is_said "$(run kept -- true)" "no server.*wormhole serve"
finish
