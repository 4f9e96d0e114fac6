# SPDX-License-Identifier: Apache-2.0
# Plots a group for each layer and a bar for each direction, with a line at 1 for the native time.
load plots."/colours.gp"
set terminal svg size 900,420 background "white" noenhanced font letters
set output out
set datafile missing "-"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.85 noborder
set grid ytics
set yrange [0:*]
set key outside top center horizontal autotitle columnhead
set ylabel "time over shm / native"
set xtics rotate by 45 right scale 0 nomirror
plot for [i=2:3] dat using i:xtic(1), 1 linetype 7 dashtype 2 title "native"
