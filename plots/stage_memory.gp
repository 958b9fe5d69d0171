# Memory of each stage at its peak, for Megatron's default, the count-based
# rule and the pick. Bars: measured; points: predicted. From stages.csv.
load ARG1
csv = ARG2
out = ARG3
layouts = "default count-based pick"
shades = "#d0d0d0 #909090 #303030"
width = 0.26
mib = 2.0 ** 20
stats csv using (column("stage")) nooutput name "S"
set xrange [-0.6:S_max + 0.6]
set yrange [0:*]
set xtics 1
set title ARG4 . ": peak memory of each stage"
set xlabel "stage"
set ylabel "MiB"
set style fill solid 1 border rgb "#000000"
set boxwidth 0.9 * width
of(role, y) = stringcolumn("role") eq role ? y / mib : NaN
do for [k = 0:1] {
    if (k == 0) { set terminal @svg; set output out . ".svg" }
    if (k == 1) { set terminal @png; set output out . ".png" }
    plot for [i = 1:3] csv using (column("stage") + (i - 2) * width):(of(word(layouts, i), column("meas_mem_bytes"))) with boxes lc rgb word(shades, i) title word(layouts, i), \
         for [i = 1:3] csv using (column("stage") + (i - 2) * width):(of(word(layouts, i), column("pred_mem_bytes"))) with points pt 7 ps 1.4 lc rgb "#ffffff" notitle, \
         for [i = 1:3] csv using (column("stage") + (i - 2) * width):(of(word(layouts, i), column("pred_mem_bytes"))) with points pt 6 ps 1.4 lw 2 lc rgb "#000000" notitle, \
         NaN with points pt 6 ps 1.4 lw 2 lc rgb "#000000" title "predicted"
    unset output
}
