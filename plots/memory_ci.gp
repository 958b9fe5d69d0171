# Errors of predicted peaks and of allocated bytes against Megatron-LM's own CI
# measurements, over what was measured. From results/reference/memory.csv, which
# 'moe-layout memory --corpus DIR -o' writes. Current images only.
load ARG1
csv = ARG2
out = ARG3
set xrange [0.2:80]
set yrange [-26:26]
set logscale x 10
set ytics 5
set title ARG4 . ": memory predicted and measured"
set xlabel "measured, GiB"
set ylabel "predicted - measured, %"
set object 1 rectangle from graph 0, first -5 to graph 1, first 5 behind fc rgb band fs solid noborder
gib = 2.0 ** 30
of(moe, y) = column("primary") == 1 && column("supported") == 1 && column("moe") == moe ? y : NaN
do for [k = 1:n_outputs] {
    if (k == 1) { set terminal @svg; set output out . ".svg" }
    if (k == 2) { set terminal @pdf; set output out . ".pdf" }
    plot csv using (column("meas_peak_bytes") / gib):(of(1, column("peak_error_pct"))) with points ls 1 title "peak, MoE", \
         csv using (column("meas_peak_bytes") / gib):(of(0, column("peak_error_pct"))) with points ls 2 title "peak, dense", \
         csv using (column("meas_allocated_bytes") / gib):(of(1, column("allocated_error_pct"))) with points ls 3 title "allocated, MoE", \
         csv using (column("meas_allocated_bytes") / gib):(of(0, column("allocated_error_pct"))) with points ls 4 title "allocated, dense", \
         NaN with boxes fs solid fc rgb band title "within 5%"
    unset output
}
