# One style for all figures: told apart by shape and shade, not by colour.
# The scripts are called as: gnuplot -c FIGURE.gp STYLE.gp CSV OUT TITLE
set datafile separator comma
set datafile columnheaders
set encoding utf8
set border 3 lw 1 lc rgb "#404040"
set tics nomirror out scale 0.6
set grid ytics lt 1 lw 0.5 lc rgb "#d8d8d8"
set key outside right top Left reverse noenhanced samplen 1.5 spacing 1.3
set title noenhanced
set style line 1 lc rgb "#000000" lw 1.5 pt 7 ps 1.1
set style line 2 lc rgb "#000000" lw 1.5 pt 6 ps 1.3
set style line 3 lc rgb "#606060" lw 1.5 pt 5 ps 1.1
set style line 4 lc rgb "#606060" lw 1.5 pt 4 ps 1.2
set style line 5 lc rgb "#000000" lw 1.5 pt 9 ps 1.3
set style line 6 lc rgb "#000000" lw 1.5 pt 8 ps 1.4
set style line 7 lc rgb "#606060" lw 1.5 pt 13 ps 1.3
set style line 8 lc rgb "#606060" lw 1.5 pt 12 ps 1.4
set style line 9 lc rgb "#000000" lw 1.5 pt 2 ps 1.2
band = "#e4e4e4"

# Every figure is drawn twice, with these two terminals.
svg = "svg size 760,460 font 'Helvetica,13' background rgb 'white'"
png = "pngcairo size 1140,690 font 'Helvetica,19' background rgb 'white'"
