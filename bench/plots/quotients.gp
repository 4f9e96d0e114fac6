# SPDX-License-Identifier: Apache-2.0
# Plots a group for each layer and a bar for each way, with a line at 1 for the baseline.
load plots."/colours.gp"
set terminal svg size 900,460 background "white" noenhanced font letters
set output out
set datafile missing "-"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.85 noborder
set grid ytics
set yrange [0:*]
set key outside top center horizontal autotitle columnhead
set ylabel unit
set xtics rotate by 25 right scale 0 nomirror
plot for [i=2:5] dat using i:xtic(1), 1 linetype 7 dashtype 2 title "without Wormhole"
