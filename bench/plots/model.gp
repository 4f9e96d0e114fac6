# SPDX-License-Identifier: Apache-2.0
# Plots a horizontal bar for each call and way. It is divided by the middle of each cost,
# and shows the spread (columns 7 and 8).
load plots."/colours.gp"
stats dat skip 1 using 2 nooutput
set terminal svg size 900,(110+26*STATS_records) background "white" noenhanced font letters
set output out
set style fill solid 0.9 noborder
set lmargin 30
set grid xtics
set xrange [0:*]
set yrange [STATS_records-0.4:-0.6]
set ytics scale 0
set key outside top center horizontal samplen 1.5
set xlabel "cycles (a model; lines: from its least to its most)"
upto(i) = i < 2 ? 0 : upto(i-1) + column(i)
array heads[6] = ["", "instructions", "VMFUNC", "exits", "FS/GS", "caches, TLBs"]
plot for [i=2:6] dat skip 1 using (upto(i-1)):0:(upto(i-1)):(upto(i)):($0-0.36):($0+0.36):ytic(1) \
		with boxxyerror linetype i-1 title heads[i], \
	dat skip 1 using (($7+$8)/2):0:7:8 with xerrorbars linecolor "black" linewidth 1 pointtype 0 notitle
