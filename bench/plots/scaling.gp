# SPDX-License-Identifier: Apache-2.0
# A line for each world, number of CPUs, and clients or threads; dat's first line has their names.
set terminal svg size 1000,460 background "white" noenhanced
set output out
set datafile missing "-"
set grid
set logscale xy
set xrange [0.9:72]
set xtics (1, 2, 4, 8, 16, 32, 64)
set xlabel "clients, or threads of one client"
set ylabel "calls a second (logarithmic)"
set key outside right top
plot for [i=2:9] dat using 1:(column(i)) with linespoints linewidth 2 title columnheader(i)
