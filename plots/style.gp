# One style for all figures. Colours are those of Okabe and Ito, which people
# with any common colour blindness tell apart; shapes, hatches and shades tell
# the same, so that a figure survives a grey printer.
# The scripts are called as: gnuplot -d -c FIGURE.gp STYLE.gp CSV OUT TITLE
set datafile separator comma
set datafile columnheaders
set encoding utf8
set border 3 lw 1 lc rgb "#404040"
set tics nomirror out scale 0.6
set grid ytics lt 1 lw 0.5 lc rgb "#d8d8d8"
set key outside right top Left reverse noenhanced samplen 1.5 spacing 1.3
set title noenhanced

black = "#000000"
orange = "#E69F00"
sky = "#56B4E9"
green = "#009E73"
yellow = "#F0E442"
blue = "#0072B2"
vermilion = "#D55E00"
purple = "#CC79A7"
grey = "#606060"
band = "#e4e4e4"

set style line 1 lc rgb blue lw 1.5 pt 7 ps 0.9
set style line 2 lc rgb vermilion lw 1.5 pt 4 ps 0.9
set style line 3 lc rgb green lw 1.5 pt 9 ps 1.1
set style line 4 lc rgb purple lw 1.5 pt 12 ps 1.2
set style line 5 lc rgb black lw 1.5 pt 2 ps 0.9
set style line 6 lc rgb orange lw 1.5 pt 5 ps 0.9
set style line 7 lc rgb sky lw 1.5 pt 11 ps 1.1
set style line 8 lc rgb grey lw 1.5 pt 6 ps 1.0
set style line 9 lc rgb black lw 1.5 pt 1 ps 1.0

# Layouts that are compared stage by stage: the same colour and hatch in every
# figure (gnuplot's pattern 3 is solid).
compared = "default count-based pick"
shades = orange . " " . sky . " " . blue
hatches = "4 3 3"

# Every figure is drawn with both: SVG for the page, PDF for print. Of one
# proportion, so that what fits in one fits in the other.
n_outputs = 2
svg = "svg size 760,460 font 'sans-serif,13' background rgb 'white'"
pdf = "pdfcairo size 10.56in,6.39in font 'DejaVu Sans,13' fontscale 1"
