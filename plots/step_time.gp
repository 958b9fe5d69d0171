# Predicted and measured step time, a line a layout, both with their 95%
# intervals; the grey bar is +-2.7% about the measured one, the study's error.
# From layouts.csv.
load ARG1
csv = ARG2
out = ARG3
n = 0
low = 1e300
high = 0
see(x) = (low = column(x) < low ? column(x) : low, \
          high = column(x) > high ? column(x) : high, 1)
do for [name in "meas_step_ms pred_step_ms meas_lo_ms meas_hi_ms pred_lo_ms pred_hi_ms"] {
    stats csv using (see(name)) nooutput
}
lo = low - 0.06 * (high - low) - 0.01 * high
hi = high + 0.06 * (high - low) + 0.01 * high
set xrange [lo:hi]
stats csv using 0 nooutput
rows = int(STATS_records)
label(z) = stringcolumn("role") . (rows > 12 ? "" : "\n" . stringcolumn("layout"))
array tic[rows]
stats csv using (n = n + 1, tic[n] = label(0), 1) nooutput
set yrange [n - 0.5:-0.5]
set ytics () noenhanced font ",9"
do for [i = 1:n] { set ytics add (tic[i] i - 1) }
unset grid
set grid xtics lt 1 lw 0.5 lc rgb "#d8d8d8"
set key outside bottom center horizontal maxrows 1 width -1 samplen 2
set title ARG4 . ": predicted and measured step time"
set xlabel "step time, ms"
m = "column('meas_step_ms')"
do for [k = 1:n_outputs] {
    if (k == 1) { set terminal @svg; set output out . ".svg" }
    if (k == 2) { set terminal @pdf; set output out . ".pdf" }
    plot csv using (@m):0:(0.973 * @m):(1.027 * @m):($0 - 0.36):($0 + 0.36) with boxxyerror fs solid noborder lc rgb band title "within 2.7%", \
         csv using (@m):($0 - 0.15):(column("meas_lo_ms")):(column("meas_hi_ms")) with xerrorbars ls 1 title "measured [95%]", \
         csv using (column("pred_step_ms")):($0 + 0.15):(column("pred_lo_ms")):(column("pred_hi_ms")) with xerrorbars ls 2 title "predicted [95%]"
    unset output
}
