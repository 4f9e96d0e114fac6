# SPDX-License-Identifier: Apache-2.0
# Plots a group for each call and a bar for each way. The first line of dat has the ways.
load plots."/colours.gp"
set terminal svg size 900,440 background "white" noenhanced font letters
set output out
set datafile missing "-"
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.9 noborder
set logscale y
set yrange [10:200000]
set grid ytics
set format y "%.0s%c"
set xtics scale 0
set key outside top center horizontal maxcols 3 autotitle columnhead
set ylabel "nanoseconds (logarithmic)"
plot for [i=2:6] dat using i:xtic(1)
