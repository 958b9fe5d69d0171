# Predicted over measured step times of all public datasets, one symbol a
# source. From results/published/predicted.csv, which 'moe-bench report' writes.
# The band is 5% either way.
load ARG1
csv = ARG2
out = ARG3
set logscale xy 10
set xrange [0.5:2000]
set yrange [0.5:2000]
set title ARG4 . ": predicted and measured"
set xlabel "measured, s"
set ylabel "predicted, s"
sources = system("tail -n +2 '" . csv . "' | cut -d, -f2 | sort -u")
of(name) = strcol("source") eq name ? column("pred_step_s") : NaN
do for [k = 0:1] {
    if (k == 0) { set terminal @svg; set output out . ".svg" }
    if (k == 1) { set terminal @png; set output out . ".png" }
    plot '+' using 1:($1 * 0.95):($1 * 1.05) with filledcurves fc rgb band notitle, \
         x with lines lc rgb "#808080" lw 1 title "equal", \
         for [i = 1:words(sources)] csv using (column("meas_step_s")):(of(word(sources, i))) \
             with points ls i title word(sources, i), \
         NaN with boxes fs solid fc rgb band title "within 5%"
    unset output
}
