# SPDX-License-Identifier: Apache-2.0
# Plots what each of four trainings gets over time, in windows of 100 ms above and of 1 s below, with a
# column for each run: windows.csv of torch_share.py. Dotted lines are the shares that were asked for.
load plots."/colours.gp"
set datafile separator ","
set terminal svg size 1300,640 background "white" noenhanced font "sans,13"
set output out
runs = system("cut -d, -f1 ".csv." | grep -vE '^run$|alone|beside' | awk '!seen[$0]++' | tr '\n' ' '")
columns = words(runs)
rows(run, width, program) = "< awk -F, '$1 == \"".run."\" && $3 == ".width." && $2 == \"".program."\"' ".csv
programs(run) = system("awk -F, '$1 == \"".run."\" && !seen[$2]++ { print $2 }' ".csv." | tr '\n' ' '")
stats "< grep -v ^run ".csv using (($4 + 1) * $3) name "T" nooutput
set xrange [0:T_max]
set yrange [0:1.19]
set grid y
array share[4] = [0.4, 0.3, 0.2, 0.1]
unset key
set label 5 "part of what each makes alone; asked for:" at screen 0.53,0.97 right
do for [k=1:4] {
	set label k sprintf("%d %%", 100 * share[k]) at screen 0.5 + 0.05 * k,0.97 textcolor linetype k font "sans-Bold,13"
}
set multiplot layout 2,columns margins 0.065,0.99,0.09,0.89 spacing 0.012,0.05
do for [width in "0.1 1"] {
	set xlabel (width eq "1" ? "seconds" : "")
	set format x (width eq "1" ? "%g" : "")
	do for [i=1:columns] {
		run = word(runs, i)
		set title (width eq "1" ? "" : run)
		set ylabel (i > 1 ? "" : width eq "1" ? "in windows of 1 s" : "in windows of 100 ms")
		set format y (i > 1 ? "" : "%g")
		names = programs(run)
		plot for [k=1:words(names)] rows(run, width, word(names, k)) using (($4 + 0.5) * $3):6 \
				with histeps linetype k notitle, \
			for [k=1:4] share[k] with lines linetype k linewidth 1 dashtype 3 notitle
		unset label
	}
}
unset multiplot
