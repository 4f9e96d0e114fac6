# SPDX-License-Identifier: Apache-2.0
# A bar for each call and way, divided by the middle of each cost, and its spread (columns 7 and 8).
set terminal svg size 1000,480 background "white" noenhanced
set output out
set style data histograms
set style histogram rowstacked
set style fill solid 0.85 border -1
set boxwidth 0.7
set grid ytics
set key outside top center horizontal autotitle columnhead
set ylabel "cycles (a model)"
set xtics rotate by 30 right scale 0
plot for [i=2:6] dat using i:xtic(1), \
	dat using 0:(($7+$8)/2):7:8 with yerrorbars linecolor "black" pointtype 0 notitle
