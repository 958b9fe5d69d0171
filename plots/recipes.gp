# How far layouts in use (public recipes, else Megatron's default split, else the
# count-based rule) are behind the optimum of the same split, a pair of
# bars a split: without and with EP overlap, costs by FLOPs. Where the optimum
# is not proved a line leads from the distance to the planner's layout up to the
# distance to the bound, between which the gap lies. From recipes.csv.
load ARG1
csv = ARG2
out = ARG3
width = 0.36
low(x) = x > 0 ? x : 0
gap(z) = low(column("gap_pct"))
behind(z) = low(100 * (column("pred_step_ms") / column("planner_step_ms") - 1))
least(z) = stringcolumn("proof") eq "gap" ? behind(0) : gap(0)
# Of several rows the layout that is compared, or the refusal.
taken(ep) = column("grid") == 0 && column("ep_overlap") == ep && \
            (column("compared") == 1 || refused(0))
refused(z) = stringcolumn("proof") eq "refused"
place(ep) = taken(ep) && !refused(0) ? column("way") + (ep - 0.5) * width : NaN
missing(ep) = taken(ep) && refused(0) ? column("way") + (ep - 0.5) * width : NaN
text(z) = sprintf(stringcolumn("proof") eq "gap" ? "<%.1f" : "%.1f", gap(0))
top = 0
ways = 0
see(x, w) = (top = x > top ? x : top, ways = w > ways ? w : ways, 1)
stats csv using (taken(0) || taken(1) ? \
    see(refused(0) ? 0 : gap(0), column("way")) : 0) nooutput
top = top > 0 ? top : 1
set yrange [0:1.15 * top]
set xrange [0.4:ways + 0.6]
set xtics () scale 0
set bmargin 5
set key outside top center horizontal Left reverse noenhanced samplen 1.5 width 2
who(z) = stringcolumn("who") eq "count-based" ? "by count" : stringcolumn("who")
name(ep) = taken(ep) && !refused(0) ? sprintf("PP%d\nVPP%d\n%s", column("pp"), \
    column("vpp"), who(0)) : ""
array tic[ways]
keep(ep) = (strlen(name(ep)) > 0 ? (tic[int(column("way"))] = name(ep), 1) : 0)
stats csv using (keep(1) + keep(0)) nooutput
do for [i = 1:ways] { set xtics add (tic[i] 1.0 * i) }
set title ARG4 . ": layouts in use behind the optimum (analytic costs)"
set ylabel "step over the optimum, %"
set boxwidth 0.92 * width
do for [k = 1:n_outputs] {
    if (k == 1) { set terminal @svg; set output out . ".svg" }
    if (k == 2) { set terminal @pdf; set output out . ".pdf" }
    plot for [ep = 0:1] csv using (place(ep)):(least(0)) with boxes \
             fs pattern (ep ? 3 : 4) border rgb black lc rgb (ep ? sky : orange) \
             title (ep ? "with EP overlap" : "without EP overlap"), \
         for [ep = 0:1] csv using (place(ep)):(least(0)):(0):(gap(0) - least(0)) \
             with vectors heads size 0.06,90 lw 1.5 lc rgb "#000000" \
             title (ep ? "" : "up to the bound"), \
         for [ep = 0:1] csv using (place(ep)):(gap(0)):(text(0)) \
             with labels offset 0,0.6 notitle, \
         for [ep = 0:1] csv using (missing(ep)):(0.03 * top) with points ls 9 \
             title (ep ? "refused by Megatron" : "")
    unset output
}
