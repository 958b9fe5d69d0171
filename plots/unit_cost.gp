# Cost of each kind of unit for one micro-batch, forward and backward: as
# FLOPs tell it, scaled so that a decoder layer agrees, and as it was fitted
# from profile runs, with 95% intervals. From units.csv.
load ARG1
csv = ARG2
out = ARG3
width = 0.2
set yrange [0:*]
set title ARG4 . ": cost of units"
set xlabel "E embedding, t decoder layer, m MTP layer, L loss head"
set ylabel "ms a micro-batch"
set boxwidth 0.9 * width
stats csv using (column("fwd_ms")) nooutput
set xrange [-0.6:STATS_records - 0.4]
at(k) = column(0) + (k - 2.5) * width
do for [k = 1:n_outputs] {
    if (k == 1) { set terminal @svg; set output out . ".svg" }
    if (k == 2) { set terminal @pdf; set output out . ".pdf" }
    plot csv using (at(1)):(column("flops_fwd_ms")):xtic(stringcolumn("kind")) with boxes fs pattern 4 border rgb black lc rgb sky title "forward by FLOPs", \
         csv using (at(2)):(column("fwd_ms")) with boxes fs solid border rgb black lc rgb sky title "forward fitted", \
         csv using (at(3)):(column("flops_bwd_ms")) with boxes fs pattern 5 border rgb black lc rgb orange title "backward by FLOPs", \
         csv using (at(4)):(column("bwd_ms")) with boxes fs solid border rgb black lc rgb orange title "backward fitted", \
         csv using (at(2)):(column("fwd_ms") - 1.96 * column("fwd_se_ms")):(0):(2 * 1.96 * column("fwd_se_ms")) with vectors heads size 0.04,90 lw 1.5 lc rgb black title "95% interval", \
         csv using (at(4)):(column("bwd_ms") - 1.96 * column("bwd_se_ms")):(0):(2 * 1.96 * column("bwd_se_ms")) with vectors heads size 0.04,90 lw 1.5 lc rgb black notitle
    unset output
}
