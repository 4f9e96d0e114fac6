# SPDX-License-Identifier: Apache-2.0
# attach.dat, a line for each pair, to the table of RESULTS.md.
function comma(n,   s) {
	s = sprintf("%d", n)
	while (match(s, /^-?[0-9]+[0-9][0-9][0-9]($|,)/))
		sub(/[0-9][0-9][0-9]($|,)/, ",&", s)
	return s
}
BEGIN {
	print "| pair | worker: register and first TAKE | client: ATTACH | first call | next call | attaching | tables of the view, KiB | mapped, MiB | host memory, KiB |"
	print "|-----:|------:|------:|------:|------:|------:|------:|------:|------:|"
}
{
	n++
	sum = $3 + $4
	if ($2 > ready) ready = $2
	kb = $8 + $9
	all_kb += kb
	if (sum > most) most = sum
	if ($1 == 1 || $1 == 2 || $1 == 4 || $1 == 8 || $1 == 16 || $1 == 32 || $1 == 64)
		printf "| %d | %s | %s | %s | %s | %s | %s | %d | %s |\n", $1, comma($2), comma($3), comma($4), comma($5), comma(sum), comma($6 * 4), $7 / 256, comma(kb)
}
END { printf "\nMost of one pair: %s instructions, and %s before its client comes. Host memory of %d pairs: %s KiB each.\n", comma(most), comma(ready), n, comma(all_kb / n) }
