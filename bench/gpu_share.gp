# SPDX-License-Identifier: Apache-2.0
# Plots the requested share and the measured share, by the length of the kernels; also for
# two tenants at once.
set terminal svg size 700,520 background "white"
set output out
set xlabel "share asked, %"
set ylabel "work done, % of that without a limit"
set xrange [0:100]
set yrange [0:110]
set grid
set key top left
kinds = system("grep -w one share.dat | cut -f3 | sort -u | tr '\n' ' '")
plot x with lines dashtype 2 title "exact", \
	for [k in kinds] "< tr -d '\"' <share.dat" using ($1):(strcol(3) eq k && strcol(4) eq "one" ? $2 : NaN) \
		with points pointtype 7 title k." us", \
	"< tr -d '\"' <share.dat" using ($1):(strcol(4) eq "two" ? $2 : NaN) \
		with points pointtype 6 pointsize 1.5 linecolor "black" title "of two tenants"
