# Predicted against measured step time, one point a layout, both with their
# 95% intervals; the band is +-2.7%, the study's error. From layouts.csv.
load ARG1
csv = ARG2
out = ARG3
roles = ""
stats csv using (roles = roles . " " . stringcolumn("role"), 1) nooutput
n = words(roles)
low = 1e300
high = 0
see(x) = (low = column(x) < low ? column(x) : low, \
          high = column(x) > high ? column(x) : high, 1)
do for [name in "meas_step_ms pred_step_ms meas_lo_ms meas_hi_ms pred_lo_ms pred_hi_ms"] {
    stats csv using (see(name)) nooutput
}
lo = low - 0.08 * (high - low) - 0.01 * high
hi = high + 0.08 * (high - low) + 0.01 * high
set xrange [lo:hi]
set yrange [lo:hi]
set size ratio 1
raw = (hi - lo) / 5
unit = 10 ** floor(log10(raw))
step = unit * (raw / unit < 1.5 ? 1 : raw / unit < 3.5 ? 2 : raw / unit < 7.5 ? 5 : 10)
set xtics step
set ytics step
set title ARG4 . ": predicted against measured step time"
set xlabel "measured step time (ms)"
set ylabel "predicted step time (ms)"
set print $band
print "x,low,high"
print sprintf("%.17g,%.17g,%.17g", lo, 0.973 * lo, 1.027 * lo)
print sprintf("%.17g,%.17g,%.17g", hi, 0.973 * hi, 1.027 * hi)
unset print
do for [k = 0:1] {
    if (k == 0) { set terminal @svg; set output out . ".svg" }
    if (k == 1) { set terminal @png; set output out . ".png" }
    plot $band using 1:2:3 with filledcurves lc rgb band title "±2.7%", \
         x with lines lw 1 dt 2 lc rgb "#404040" title "equal", \
         for [i = 1:n] csv every ::i-1::i-1 using (column("meas_step_ms")):(column("pred_step_ms")):(column("meas_lo_ms")):(column("meas_hi_ms")):(column("pred_lo_ms")):(column("pred_hi_ms")) with xyerrorbars ls i pt 0 notitle, \
         for [i = 1:n] csv every ::i-1::i-1 using (column("meas_step_ms")):(column("pred_step_ms")) with points ls i title word(roles, i)
    unset output
}
