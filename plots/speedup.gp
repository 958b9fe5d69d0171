# Speedup of each layout over Megatron's default: bars measured, points
# predicted. From layouts.csv; rows of one role are numbered as they come.
load ARG1
csv = ARG2
out = ARG3
stats csv using (column("meas_speedup")) nooutput name "M"
stats csv using (column("pred_speedup")) nooutput name "P"
top = M_max > P_max ? M_max : P_max
set xrange [-0.6:M_records - 0.4]
set yrange [0:1.12 * top]
set xtics rotate by -25 noenhanced
set title ARG4 . ": speedup over the default layout"
set ylabel "speedup (step of the default / step)"
set boxwidth 0.8
set key outside top right horizontal
do for [k = 1:n_outputs] {
    if (k == 1) { set terminal @svg; set output out . ".svg" }
    if (k == 2) { set terminal @pdf; set output out . ".pdf" }
    plot csv using 0:(column("meas_speedup")):xtic(stringcolumn("role")) with boxes fs solid border rgb black lc rgb sky title "measured", \
         csv using 0:(0.05 * top):(sprintf("%.2f", column("meas_speedup"))) with labels notitle, \
         csv using 0:(column("pred_speedup")) with points pt 7 ps 1.1 lc rgb "#ffffff" notitle, \
         csv using 0:(column("pred_speedup")) with points pt 6 ps 1.1 lw 2 lc rgb vermilion title "predicted", \
         1 with lines lw 1 dt 2 lc rgb black title "the default"
    unset output
}
