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
set ylabel "speedup"
set style fill solid 1 border rgb "#000000"
set boxwidth 0.8
do for [k = 0:1] {
    if (k == 0) { set terminal @svg; set output out . ".svg" }
    if (k == 1) { set terminal @png; set output out . ".png" }
    plot csv using 0:(column("meas_speedup")):xtic(stringcolumn("role")) with boxes lc rgb "#b0b0b0" title "measured", \
         csv using 0:(0.05 * top):(sprintf("%.2f", column("meas_speedup"))) with labels notitle, \
         csv using 0:(column("pred_speedup")) with points pt 7 ps 1.4 lc rgb "#ffffff" notitle, \
         csv using 0:(column("pred_speedup")) with points pt 6 ps 1.4 lw 2 lc rgb "#000000" title "predicted", \
         1 with lines lw 1 dt 2 lc rgb "#404040" notitle
    unset output
}
