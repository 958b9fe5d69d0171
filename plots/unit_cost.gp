# Cost of each kind of unit for one micro-batch, forward and backward: as
# FLOPs tell it, scaled so that a decoder layer agrees, and as it was fitted
# from profile runs, with 95% intervals. From units.csv.
load ARG1
csv = ARG2
out = ARG3
width = 0.2
set yrange [0:*]
set title ARG4 . ": cost of units"
set ylabel "ms a micro-batch"
set style fill solid 1 border rgb "#000000"
set boxwidth 0.9 * width
stats csv using (column("fwd_ms")) nooutput
set xrange [-0.6:STATS_records - 0.4]
do for [k = 0:1] {
    if (k == 0) { set terminal @svg; set output out . ".svg" }
    if (k == 1) { set terminal @png; set output out . ".png" }
    plot csv using (column(0) - 1.5 * width):(column("flops_fwd_ms")):xtic(stringcolumn("kind")) with boxes lc rgb "#ffffff" title "forward by FLOPs", \
         csv using (column(0) - 0.5 * width):(column("fwd_ms")) with boxes lc rgb "#a8a8a8" title "forward measured", \
         csv using (column(0) + 0.5 * width):(column("flops_bwd_ms")) with boxes lc rgb "#d8d8d8" title "backward by FLOPs", \
         csv using (column(0) + 1.5 * width):(column("bwd_ms")) with boxes lc rgb "#606060" title "backward measured", \
         csv using (column(0) - 0.5 * width):(column("fwd_ms") - 1.96 * column("fwd_se_ms")):(0):(2 * 1.96 * column("fwd_se_ms")) with vectors heads size 0.04,90 lw 1.5 lc rgb "#000000" title "95% interval", \
         csv using (column(0) + 1.5 * width):(column("bwd_ms") - 1.96 * column("bwd_se_ms")):(0):(2 * 1.96 * column("bwd_se_ms")) with vectors heads size 0.04,90 lw 1.5 lc rgb "#000000" notitle
    unset output
}
