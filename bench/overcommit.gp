# SPDX-License-Identifier: Apache-2.0
# Plots the memory of two tenants over time, on the device and in the host: overcommit.csv of overcommit.py.
# Above one runs after the other, below both at the same time, on the same scale of time.
load plots."/colours.gp"
set datafile separator ","
set terminal svg size 1100,560 background "white" noenhanced font letters
set output out
# The second program's times come after the first one's.
alone = "< awk -F, -v OFS=, '/^alone/ { if ($1 != run) { run = $1; start = end } end = start + $2; $2 = end; print }' ".csv
both = "< awk -F, '/^together/' ".csv
# A tenant that is on its way has its memory in one place or the other.
on(state, memory) = strcol(state) eq "running" ? column(memory) : 0
set multiplot layout 2,1 margins 0.11,0.98,0.12,0.91 spacing 0,0.04
set format y "%.0s %cB"
set grid
set yrange [0:*]
stats alone using 2 name "A" nooutput
stats both using 2 name "B" nooutput
set xrange [0:(A_max > B_max ? A_max : B_max)]
set style fill solid 0.75 noborder
set format x ""
set ylabel "one after the other"
set key at screen 0.53,0.99 center top horizontal maxrows 2
plot alone using 2:(on(5, 3) + on(8, 6)) with filledcurves x1 linetype 2 title "b on the device", \
	"" using 2:(on(5, 3)) with filledcurves x1 linetype 1 title "a on the device", \
	"" using 2:4 with lines linecolor "#223355" dashtype 2 linewidth 2 title "a in the host", \
	"" using 2:7 with lines linecolor "#882233" dashtype 3 linewidth 2 title "b in the host", \
	"" using 2:9 with lines linecolor "#000000" linewidth 1 title "in use on the device"
unset key
set format x "%g"
set xlabel "seconds"
set ylabel "both at the same time"
plot both using 2:(on(5, 3) + on(8, 6)) with filledcurves x1 linetype 2, \
	"" using 2:(on(5, 3)) with filledcurves x1 linetype 1, \
	"" using 2:4 with lines linecolor "#223355" dashtype 2 linewidth 2, \
	"" using 2:7 with lines linecolor "#882233" dashtype 3 linewidth 2, \
	"" using 2:9 with lines linecolor "#000000" linewidth 1
unset multiplot
