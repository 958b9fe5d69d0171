# One recorded step of the default layout (above) and of the pick (below), on
# one time axis: a box an operation, numbered by micro-batch where the box is
# wide enough. From timeline.csv.
load ARG1
csv = ARG2
out = ARG3
stats csv using (column("stage")) nooutput name "S"
stats csv using (column("end_ms")) nooutput name "T"
n = int(S_max) + 1
row(role, stage) = role eq "default" ? stage : stage + n + 1
known(role) = role eq "default" || role eq "pick"
set yrange [2 * n + 0.6:-1.6]
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
set style fill solid 1 border rgb black
part(kind, role, y) = stringcolumn("kind") eq kind && known(role) ? y : NaN
wide(z) = column("end_ms") - column("start_ms") > 0.012 * T_max
r = "row(stringcolumn('role'), column('stage'))"
do for [k = 1:n_outputs] {
    if (k == 1) { set terminal @svg; set output out . ".svg" }
    if (k == 2) { set terminal @pdf; set output out . ".pdf" }
    plot csv using (column("start_ms")):(part("forward", stringcolumn("role"), @r)):(column("start_ms")):(column("end_ms")):(@r - 0.42):(@r + 0.42) with boxxyerror lc rgb "#ffffff" lw 0.8 title "forward", \
         csv using (column("start_ms")):(part("backward", stringcolumn("role"), @r)):(column("start_ms")):(column("end_ms")):(@r - 0.42):(@r + 0.42) with boxxyerror lc rgb sky lw 0.8 title "backward", \
         csv using ((column("start_ms") + column("end_ms")) / 2):(known(stringcolumn("role")) && wide(0) ? @r : NaN):(sprintf("%d", column("mb"))) with labels font (n > 5 ? ",7" : ",9") notitle
    unset output
}
