# One recorded step of the default layout (above) and of the pick (below), on
# one time axis: a box an operation, numbered by micro-batch. From timeline.csv.
load ARG1
csv = ARG2
out = ARG3
roles = "default pick"
stats csv using (column("stage")) nooutput name "S"
stats csv using (column("end_ms")) nooutput name "T"
n = int(S_max) + 1
row(role, stage) = role eq "default" ? stage : stage + n + 1
known(role) = role eq "default" || role eq "pick"
set yrange [2 * n + 1.6:-1.6]
set xrange [0:1.01 * T_max]
set ytics ()
do for [s = 0:n - 1] {
    set ytics add (sprintf("stage %d", s) s)
    set ytics add (sprintf("stage %d", s) s + n + 1)
}
set title ARG4 . ": one recorded step"
set xlabel "ms from the start of the step"
set key outside bottom center horizontal
unset grid
set label 1 "default" at graph 0.005, first -1 left
set label 2 "pick" at graph 0.005, first n left
set style fill solid 1 border rgb "#000000"
part(kind, role, y) = stringcolumn("kind") eq kind && known(role) ? y : NaN
r = "row(stringcolumn('role'), column('stage'))"
do for [k = 0:1] {
    if (k == 0) { set terminal @svg; set output out . ".svg" }
    if (k == 1) { set terminal @png; set output out . ".png" }
    plot csv using (column("start_ms")):(part("forward", stringcolumn("role"), @r)):(column("start_ms")):(column("end_ms")):(@r - 0.42):(@r + 0.42) with boxxyerror lc rgb "#ffffff" lw 0.8 title "forward", \
         csv using (column("start_ms")):(part("backward", stringcolumn("role"), @r)):(column("start_ms")):(column("end_ms")):(@r - 0.42):(@r + 0.42) with boxxyerror lc rgb "#a8a8a8" lw 0.8 title "backward", \
         csv using ((column("start_ms") + column("end_ms")) / 2):(part("forward", stringcolumn("role"), @r)):(sprintf("%d", column("mb"))) with labels font ",9" notitle, \
         csv using ((column("start_ms") + column("end_ms")) / 2):(part("backward", stringcolumn("role"), @r)):(sprintf("%d", column("mb"))) with labels font ",9" notitle
    unset output
}
