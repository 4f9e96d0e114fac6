# SPDX-License-Identifier: Apache-2.0
# Plots clients on the left and threads of one client on the right, with a line for each
# world and number of CPUs. The first line of dat has the names: columns 2, 4, ... are
# clients, columns 3, 5, ... are threads.
load plots."/colours.gp"
set terminal svg size 900,470 background "white" noenhanced font letters
set output out
set datafile missing "-"
set multiplot layout 1,2 margins 0.11,0.98,0.13,0.80 spacing 0.03
set grid
set logscale xy
set xtics (1, 2, 4, 8, 16, 32, 64)
set format y "%.0s%c"
stats dat skip 1 using 2 nooutput
lines = (STATS_columns - 1) / 2
set yrange [1000:*]
set xrange [0.9:72]
set xlabel "clients of one thread"
set ylabel "calls a second (logarithmic)"
set key at screen 0.5, 0.96 center top vertical maxrows 2
plot for [i=1:lines] dat using 1:2*i with linespoints linetype i title columnheader(2*i)
unset key
unset ylabel
set format y ""
set xrange [0.9:18]
set xlabel "threads of one client"
plot for [i=1:lines] dat skip 1 using 1:2*i+1 with linespoints linetype i notitle
