# SPDX-License-Identifier: Apache-2.0
# attach.dat to attach.svg: what the n-th pair took.
set terminal svg size 900,460 background "white"
set output out
set multiplot layout 1,2
set grid
set xlabel "pairs"
set xrange [0:65]
set key below
set logscale y
set ylabel "instructions (emulated, not cycles)"
set yrange [1e3:1e9]
plot dat using 1:2 with linespoints title "worker, before: register, first TAKE", \
	dat using 1:3 with linespoints title "client: ATTACH", \
	dat using 1:4 with linespoints title "first call", 1e7 dashtype 2 title "goal"
unset logscale y
set ylabel "KiB of the host"
set yrange [0:2000]
plot dat using 1:($6 * 4) with linespoints title "tables of the view", \
	dat using 1:($8 + $9) with points title "less free memory", 1536 dashtype 2 title "goal"
