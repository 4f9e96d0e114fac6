#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the Grafana dashboard asks only for metrics and labels that `wormhole
# metrics` has, in PromQL that Prometheus' own checker accepts, and so do the alert rules; and that the
# package has both, with units that write a file for node_exporter.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export WORMHOLE_DIR="$tmp/nothing"
"$WH_BUILD/host/wormhole" metrics | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' >"$tmp/have"

# ask WHAT prints the queries, metrics or labels of the dashboard, one in a line.
ask() {
	/usr/bin/python3 - "$WH_TOP/docs/grafana-dashboard.json" "$1" <<'END'
import json
import re
import sys

board = json.load(open(sys.argv[1]))
asked = [t['expr'] for p in board['panels'] for t in p.get('targets', [])]
asked_too = [v['query']['query'] for v in board['templating']['list'] if v['type'] == 'query']
legends = [t['legendFormat'] for p in board['panels'] for t in p.get('targets', [])]
if sys.argv[2] == 'metrics':
    out = set(re.findall(r'wormhole_\w+', ' '.join(asked + asked_too)))
elif sys.argv[2] == 'labels':
    out = set(re.findall(r'[{,](\w+)=', ' '.join(asked)))
    out |= set(re.findall(r'{{(\w+)}}', ' '.join(legends)))
    for group in re.findall(r'by \(([^)]*)\)', ' '.join(asked)):
        out |= set(group.split(', '))
else:
    out = []
    print('groups:\n- name: dashboard\n  rules:')
    for i, e in enumerate(asked):
        e = e.replace('$__rate_interval', '5m').replace('$instance', '.*').replace('$tenant', '.*')
        print(f'  - record: asked_{i}\n    expr: {json.dumps(e)}')
print('\n'.join(sorted(out)))
END
}

plan 11
is it_asks_for_metrics "$([ "$(ask metrics | wc -l)" -ge 15 ] && echo yes)" yes
is each_metric_exists "$(ask metrics | grep -vxFf "$tmp/have")" ""
# Only samples have labels: those that the document lists, and Prometheus' own.
is each_label_is_documented "$(ask labels | while read -r l; do
	[ "$l" = instance ] || grep -q "\`$l\`" "$WH_TOP/docs/operations.md" || echo "$l"; done)" ""
ask rules >"$tmp/rules"
if [ -x "$WH_BUILD/promtool" ]; then
	is each_query_is_promql "$("$WH_BUILD/promtool" check rules "$tmp/rules" >"$tmp/said" 2>&1 || cat "$tmp/said")" ""
	sed 's/rate(/rate((/' "$tmp/rules" >"$tmp/wrong"
	is a_wrong_one_is_found "$("$WH_BUILD/promtool" check rules "$tmp/wrong" >/dev/null 2>&1; echo $?)" 1
else
	skip each_query_is_promql "no build/promtool: tools/get-promtool.sh"
	skip a_wrong_one_is_found "no build/promtool: tools/get-promtool.sh"
fi

# --- Alert rules, and what the package has ------------------------------------------------------
rules=$WH_TOP/packaging/alerts.yml
if [ -x "$WH_BUILD/promtool" ]; then
	is each_alert_is_promql "$("$WH_BUILD/promtool" check rules "$rules" >"$tmp/said" 2>&1 || cat "$tmp/said")" ""
else
	skip each_alert_is_promql "no build/promtool: tools/get-promtool.sh"
fi
is alerts_ask_for_metrics_that_exist "$(grep 'expr:' "$rules" | grep -o 'wormhole_[a-z_]*' | sort -u | grep -vxFf "$tmp/have")" ""
is and_for_labels_that_are_documented "$(grep -o 'labels\.[a-z]*' "$rules" | sort -u | cut -d. -f2 | while read -r l; do
	[ "$l" = instance ] || grep -q "\`$l\`" "$WH_TOP/docs/operations.md" || echo "$l"; done)" ""
is the_package_has_all_files_of_the_rule_that_installs_them "$(for f in usr/share/wormhole \
	lib/systemd/system/wormhole-textfile.service lib/systemd/system/wormhole-textfile.timer; do
	grep -qx "$f" "$WH_TOP/debian/wormhole-host.install" || echo "$f"; done)" ""
if command -v systemd-analyze >/dev/null; then
	mkdir "$tmp/units"
	sed "s|/usr/bin/wormhole|$WH_BUILD/host/wormhole|" "$WH_TOP/packaging/wormhole-textfile.service" >"$tmp/units/wormhole-textfile.service"
	cp "$WH_TOP/packaging/wormhole-textfile.timer" "$tmp/units/"
	is the_timer_and_its_service_are_units "$(cd "$tmp/units" && systemd-analyze verify --man=no \
		./wormhole-textfile.timer ./wormhole-textfile.service 2>&1 | grep textfile)" ""
else
	skip the_timer_and_its_service_are_units "no systemd-analyze here"
fi
# What the service runs, with the folder of its file.
mkdir "$tmp/exporter"
sh -c "TEXTFILE=$tmp/exporter/wormhole.prom; $(sed -n "s|^ExecStart=/usr/bin/wormhole|$WH_BUILD/host/wormhole|p" \
	"$WH_TOP/packaging/wormhole-textfile.service")"
is its_command_writes_the_file "$(ls -A "$tmp/exporter") $(grep -c '^wormhole_up' "$tmp/exporter/wormhole.prom")" "wormhole.prom 1"
finish
