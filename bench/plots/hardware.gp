# SPDX-License-Identifier: Apache-2.0
# Plots for each call and way the model's spread as a bar, and what was measured as a point. `unit` is
# the label of the axis.
load plots."/colours.gp"
stats dat skip 1 using 2 nooutput
set terminal svg size 900,(110+26*STATS_records) background "white" noenhanced font letters
set output out
set style fill solid 0.5 noborder
set lmargin 30
set grid xtics
set logscale x
set format x "%.0s%c"
set yrange [STATS_records-0.4:-0.6]
set ytics scale 0
set key outside top center horizontal samplen 1.5
set xlabel unit." (logarithmic)"
plot dat skip 1 using 2:0:2:3:($0-0.3):($0+0.3):ytic(1) with boxxyerror linetype 1 title "model", \
	dat skip 1 using 4:0 with points pointtype 7 linecolor "black" title "measured"
