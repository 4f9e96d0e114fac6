# SPDX-License-Identifier: Apache-2.0
# Plots each kernel's time forwarded over its native one, and a step's time without and with the profiler.
load plots."/colours.gp"
set terminal svg size 900,400 background "white" noenhanced font letters
set output out
set multiplot layout 1,2
set grid
set key top left
set logscale xy
set xlabel "a kernel natively, us"
set ylabel "the same over shm, us"
plot for [m in models] m.".dat" using 1:2 with points pointsize 0.6 title m, x with lines linetype 8 title "equal"
unset logscale
set style data histograms
set style fill solid 0.85 noborder
set yrange [0:*]
set xtics rotate by -20
unset xlabel
set ylabel "a step, ms"
set key outside top center horizontal
plot "steps.dat" using 2:xtic(1) title "alone", "" using 3 title "with the profiler"
unset multiplot
