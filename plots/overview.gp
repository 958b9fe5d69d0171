# Errors of predicted step times of all experiments that ran, a line each and a
# point a layout. From overview.csv, which 'moe-bench report' writes.
load ARG1
csv = ARG2
out = ARG3
set title ARG4 . ": predicted against measured step time"
set xlabel "predicted - measured, %"
n = 0
last = ""
place(name) = (n = name eq last ? n : n + 1, last = name, n)
high = 3
stats csv using (place(stringcolumn("experiment")), \
    high = abs(column("step_error_pct")) > high ? abs(column("step_error_pct")) : high) nooutput
array tic[n]
rows = n
n = 0
last = ""
stats csv using (place(stringcolumn("experiment")), tic[n] = stringcolumn("experiment") . "\n" . stringcolumn("source") . ", " . stringcolumn("clock") . " clock", 1) nooutput
set yrange [rows + 0.6:0.4]
set xrange [-1.1 * high:1.1 * high]
set ytics () noenhanced font ",10"
do for [i = 1:rows] { set ytics add (tic[i] i) }
unset grid
set grid xtics lt 1 lw 0.5 lc rgb "#d8d8d8"
set key outside bottom center horizontal
set object 1 rectangle from first -2.7, graph 0 to first 2.7, graph 1 behind fc rgb band fs solid noborder
set arrow 1 from 0, graph 0 to 0, graph 1 nohead dt 2 lc rgb black
of(pick) = (stringcolumn("role") eq "pick") == pick ? column("step_error_pct") : NaN
do for [k = 1:n_outputs] {
    if (k == 1) { set terminal @svg; set output out . ".svg" }
    if (k == 2) { set terminal @pdf; set output out . ".pdf" }
    n = 0
    last = ""
    plot csv using (of(0)):(place(stringcolumn("experiment"))) with points ls 8 title "other layouts", \
         (n = 0, last = "", NaN) notitle, \
         csv using (of(1)):(place(stringcolumn("experiment"))) with points ls 1 title "the pick", \
         NaN with boxes fs solid fc rgb band title "the article's ±2.7%"
    unset output
}
