#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the Grafana dashboard asks only for metrics and labels that `wormhole
# metrics` has, in PromQL that Prometheus' own checker accepts.
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

plan 5
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
finish
