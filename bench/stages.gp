# SPDX-License-Identifier: Apache-2.0
# stages.dat to stages.png: medians, with the spread from minimum to maximum.
set terminal pngcairo noenhanced size 900,420 font "sans,10"
set output "stages.png"
set style data histogram
set style histogram errorbars gap 1 lw 1
set style fill solid 0.6 border -1
set logscale y
set ylabel "instructions (emulated, not cycles)"
set grid ytics
set key top left
set title "A delegated call by stage: median, minimum to maximum"
plot for [c in "null_call launch"] "< grep '^\"".c."\"' stages.dat" \
	using 4:3:5:xtic(2) title c
