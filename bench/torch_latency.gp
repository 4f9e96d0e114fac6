# SPDX-License-Identifier: Apache-2.0
# Plots the latency of requests beside a training over their percentiles, with a line for each run:
# latency.csv of torch_share.py. The right end of an axis of percentiles is far away, so it is logarithmic.
load plots."/colours.gp"
set datafile separator ","
set terminal svg size 900,520 background "white" noenhanced font letters
set output out
runs = system("cut -d, -f1 ".csv." | grep -v '^run$' | awk '!seen[$0]++' | tr '\n' ' '")
rows(run) = "< grep '^".run.",' ".csv
place(part) = -log10(1 - part)
set xrange [0:place(0.999)]
set xtics ("0" 0, "50" place(0.5), "90" place(0.9), "95" place(0.95), "99" place(0.99), "99.9" place(0.999))
set xlabel "percent of the requests"
set ylabel "answered within ms (logarithmic)"
set logscale y
set grid
set key top left Left reverse
set arrow from place(0.99), graph 0 to place(0.99), graph 1 nohead linecolor "#333333" dashtype 2
# More runs than colours: those that come later are dashed.
colours = "#4477aa #ee6677 #ddaa33 #228833 #aa3377 #66ccee #333333 #999999"
do for [i=9:16] { set linetype i linecolor rgb word(colours, i - 8) linewidth 2 dashtype 2 }
plot for [i=1:words(runs)] rows(word(runs, i)) using (place($2 / $4)):3 with lines linetype i title word(runs, i)
