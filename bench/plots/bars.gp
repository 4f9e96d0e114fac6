# SPDX-License-Identifier: Apache-2.0
# Plots a horizontal bar for each way with its figure beside it. `unit` is the label of the
# axis. The axis is logarithmic, or goes from 0 to `most` if there is one.
load plots."/colours.gp"
stats dat skip 1 using 2 nooutput
set terminal svg size 900,(90+34*STATS_records) background "white" noenhanced font letters
set output out
set style fill solid 0.85 noborder
set boxwidth 0.6 absolute
set lmargin 24
set rmargin 6
left = exists("most") ? 0 : 10**floor(log10(STATS_min))
if (!exists("most")) set logscale x
set xrange [left:exists("most") ? most : 10**ceil(log10(STATS_max*3))]
set yrange [STATS_records-0.4:-0.6]
set grid xtics
set format x "%.0s%c"
set xlabel unit
unset key
plot dat skip 1 using (left):0:(left):2:($0-0.3):($0+0.3):ytic(1) with boxxyerror linetype 1, \
	dat skip 1 using 2:0:("  ".stringcolumn(3)) with labels left
