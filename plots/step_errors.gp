# Errors of predicted step times of others, one symbol a source, over what was
# measured. From results/published/predicted.csv, which 'moe-bench report'
# writes.
load ARG1
csv = ARG2
out = ARG3
set logscale x 10
set xrange [0.5:700]
set yrange [-26:26]
set ytics 5
set title ARG4 . ": step times predicted and measured"
set xlabel "measured, s"
set ylabel "predicted - measured, %"
set object 1 rectangle from graph 0, first -5 to graph 1, first 5 behind fc rgb band fs solid noborder
sources = system("tail -n +2 '" . csv . "' | cut -d, -f2 | LC_ALL=C sort -u")
of(name) = strcol("source") eq name ? column("error_pct") : NaN
do for [k = 1:n_outputs] {
    if (k == 1) { set terminal @svg; set output out . ".svg" }
    if (k == 2) { set terminal @pdf; set output out . ".pdf" }
    plot for [i = 1:words(sources)] csv using (column("meas_step_s")):(of(word(sources, i))) \
             with points ls i title word(sources, i), \
         NaN with boxes fs solid fc rgb band title "within 5%"
    unset output
}
