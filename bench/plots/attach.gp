# SPDX-License-Identifier: Apache-2.0
# Turns attach.dat into attach.svg: the cost of the n-th pair.
load plots."/colours.gp"
set terminal svg size 900,470 background "white" noenhanced font letters
set output out
set multiplot layout 1,2 margins 0.11,0.98,0.13,0.76 spacing 0.11
set grid
set xlabel "number of the pair"
set xrange [0:65]
set logscale y
set format y "%.0s%c"
set ylabel "instructions (emulated, not cycles)"
set yrange [1e3:1e9]
set key at graph 0.5, 1.33 center top
plot dat using 1:2 with lines linetype 1 linewidth 3 title "worker, before: register, first TAKE", \
	26.2e6 linetype 1 linewidth 1 dashtype 2 title "its goal", \
	dat using 1:4 with lines linetype 3 linewidth 3 title "client: first call", \
	dat using 1:3 with lines linetype 2 linewidth 3 title "client: ATTACH"
unset logscale y
set format y "%g"
set ylabel "KiB of the host"
set yrange [0:2000]
plot dat using 1:($8 + $9) with points linetype 1 pointsize 0.5 title "less free memory", \
	1024 linetype 1 linewidth 1 dashtype 2 title "its goal", \
	dat using 1:($6 * 4) with lines linetype 2 linewidth 3 title "tables of the view"
