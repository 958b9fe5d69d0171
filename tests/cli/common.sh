# Shared by test_*.sh, which run in the repository's root: a line of TAP for each
# claim.

LC_ALL=C # awk and printf write decimal commas elsewhere, and sleep reads them
export LC_ALL

claim() { # STATUS CLAIM
    if [ "$1" -eq 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fi
}

is() { # CLAIM GOT WANTED
    if [ "$2" = "$3" ]; then echo "ok - $1"; else
        echo "not ok - $1: got '$2', want '$3'"; fi
}

one_line() { # FILE PART: the file is one line that holds the part
    [ "$(wc -l <"$1")" -eq 1 ] && grep -q -- "$2" "$1"
}
