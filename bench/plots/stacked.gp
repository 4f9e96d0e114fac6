# SPDX-License-Identifier: Apache-2.0
# Plots a horizontal bar for each call and way, divided into the parts of its cost, with the
# sum. The first line of dat has the heads; there are `parts` of them between the first and the
# last. `unit` is the label of the axis.
load plots."/colours.gp"
stats dat skip 1 using 2 nooutput
set terminal svg size 900,(110+26*STATS_records) background "white" noenhanced font letters
set output out
set style fill solid 0.9 noborder
set lmargin 30
set grid xtics
set xrange [0:*]
set offsets 0, graph 0.12, 0, 0
set yrange [STATS_records-0.4:-0.6]
set ytics scale 0
set key outside top center horizontal samplen 1.5
set xlabel unit
# Returns the sum of columns 2 to i.
upto(i) = i < 2 ? 0 : upto(i-1) + column(i)
plot for [i=2:parts+1] dat using (upto(i-1)):0:(upto(i-1)):(upto(i)):($0-0.36):($0+0.36):ytic(1) \
		with boxxyerror linetype i-1 title columnhead(i), \
	dat skip 1 using (upto(parts+1)):0:("  ".stringcolumn(parts+2)) with labels left notitle
