# SPDX-License-Identifier: Apache-2.0
# Share asked and share measured, one tenant, by the length of its kernels.
set terminal svg size 700,520 background "white"
set output out
set xlabel "share asked, %"
set ylabel "work done, % of that without a limit"
set xrange [0:100]
set yrange [0:110]
set grid
set key top left
kinds = system("cut -f3 share.dat | sort -u | tr '\n' ' '")
plot x with lines dashtype 2 title "exact", \
	for [k in kinds] "< tr -d '\"' <share.dat" using ($1):(strcol(3) eq k ? $2 : NaN) \
		with points pointtype 7 title k." us"
