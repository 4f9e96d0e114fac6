#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the figures of a claim's tenant name its pod, as the kubelet says which it is, and
# that a file which others could have written names none.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/kubernetes/node.sh"
. "$WH_TOP/tests/kubernetes/lib.sh"
pods=$WORMHOLE_DIR/pods
serve || { echo "Bail out! no server: $(tail -n 1 "$tmp/serve")"; exit 1; }
drive
for n in 1 2; do
	kubelet claim "$(uid $n)" memory=16Mi share=10
	kubelet prepare "$(uid $n)" >/dev/null
done
# The labels of a claim's tenant, after those of every tenant.
labels() { "$wormhole" metrics 2>"$tmp/err" | sed -n "s/^wormhole_workers{tenant=\"$(tenant "$1")\",user=\"root\"\(.*\)} .*/\1/p"; }
has_labels() { [ "$(labels "$1")" = "$2" ]; }
become() { await has_labels "$1" "$2"; labels "$1"; }

plan 8
is claim_without_a_pod_has_no_labels_of_one "$(labels 1)" ""
node claim team/a "$(tenant 1)" >/dev/null
is claims_figures_name_its_pod "$(become 1 ',namespace="team",pod="a",container="main"')" ',namespace="team",pod="a",container="main"'
is no_other_claims_do "$(labels 2)" ""
node claim team/b "$(tenant 1)" >/dev/null
is what_two_pods_of_a_claim_do_not_share_is_left_out "$(become 1 ',namespace="team",container="main"')" \
	',namespace="team",container="main"'
is file_is_roots "$(stat -c '%U %a' "$pods")" "root 600"
end_driver TERM
chmod 666 "$pods"
is file_that_others_may_write_counts_for_nothing "$(labels 1)" ""
like which_is_said "$(cat "$tmp/err")" "^wormhole: warn: $pods: not a file of at most .* that its owner alone may write"
chmod 600 "$pods"
printf '{"%s": {"namespace": "a\\"b\\nc", "pod": 7}}' "$(tenant 1)" >"$pods"
is text_of_a_label_stays_in_it "$(labels 1)" ',namespace="a\"b\nc"'
kill $cluster $kubelet
"$wormhole" stop
finish
