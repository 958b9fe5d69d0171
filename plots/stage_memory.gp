# Memory of each stage at its peak, for Megatron's default, the count-based
# rule and the pick. Bars: measured; points: predicted. From stages.csv.
load ARG1
csv = ARG2
out = ARG3
width = 0.26
stats csv using (column("stage")) nooutput name "S"
set xrange [-0.6:S_max + 0.6]
set yrange [0:*]
set xtics 1
set title ARG4 . ": peak memory of each stage"
set xlabel "stage"
set ylabel "peak, MiB"
set boxwidth 0.9 * width
of(role, y) = stringcolumn("role") eq role ? y : NaN
has(role) = (known = stringcolumn("role") eq role ? 1 : known)
layouts = ""
do for [role in compared] {
    known = 0
    stats csv using (has(role)) nooutput
    layouts = layouts . (known ? role . " " : "")
}
at(i) = (i - (words(layouts) + 1) / 2.0) * width
nth(list, role) = word(list, role eq "default" ? 1 : role eq "pick" ? 3 : 2)
mib = 2.0 ** 20
do for [k = 1:n_outputs] {
    if (k == 1) { set terminal @svg; set output out . ".svg" }
    if (k == 2) { set terminal @pdf; set output out . ".pdf" }
    plot for [i = 1:words(layouts)] csv using (column("stage") + at(i)):(of(word(layouts, i), column("meas_mem_bytes") / mib)) \
             with boxes fs pattern int(nth(hatches, word(layouts, i))) border rgb black lc rgb nth(shades, word(layouts, i)) title word(layouts, i), \
         for [i = 1:words(layouts)] csv using (column("stage") + at(i)):(of(word(layouts, i), column("pred_mem_bytes") / mib)) with points pt 7 ps 1.1 lc rgb "#ffffff" notitle, \
         for [i = 1:words(layouts)] csv using (column("stage") + at(i)):(of(word(layouts, i), column("pred_mem_bytes") / mib)) with points pt 6 ps 1.1 lw 2 lc rgb vermilion notitle, \
         NaN with points pt 6 ps 1.1 lw 2 lc rgb vermilion title "predicted"
    unset output
}
