#!/bin/sh
# make install: programs run from another folder; every command has a page whose
# text and options are those of --help; bash, zsh and fish complete commands,
# options and values. What needs a shell that is not there is skipped.
# alone: make writes build/, as that of test_static.sh does
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS # of the make that runs the tests
root=$tmp/root/usr
share=$root/share
pages=$share/man/man1

. tests/cli/common.sh

has() { # PROGRAM...
    for program; do
        command -v "$program" >/dev/null || return 1
    done
}

make --no-print-directory install DESTDIR="$tmp/root" PREFIX=/usr \
    >"$tmp/log" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$tmp/log"
claim $status "make install"
(umask 077; make --no-print-directory install DESTDIR="$tmp/a b" PREFIX="/c d") \
    >"$tmp/log" 2>&1 && [ -x "$tmp/a b/c d/bin/moe-layout" ] && [ ! -e b ] &&
    [ -z "$(find "$tmp/a b/c d" ! -perm -o=r)" ] &&
    [ "$(find "$tmp/a b" -type f | wc -l)" -eq "$(find "$tmp/root" -type f | wc -l)" ]
claim $? "places with blanks in their names, and a strict umask"
commands=$PWD/packaging/commands.sh
PATH=$root/bin:$PATH
export PATH
cd "$tmp" || exit 1

# ---- programs and examples, from another folder ----

for program in moe-layout moe-bench moe-train; do
    is "$program runs" "$($program --version)" "$program $(moe-layout --version |
        cut -d ' ' -f 2)"
done
(cd "$share/doc/moe-layout/examples" &&
    moe-layout baselines experiments/models/7b-a1b.json --pp 4) \
    >"$tmp/out" 2>/dev/null
claim $? "an example of the help works in the folder of examples"
cmp -s "$share/doc/moe-layout/examples/tutorial/train.sbatch" \
    "$OLDPWD/docs/tutorial/train.sbatch"
claim $? "the tutorial's files are installed"

# ---- pages ----

# words of a page without the marks of the formatter
plain() { # PAGE
    sed "s/\\\\-/-/g; s/\\\\(aq/'/g; s/\\\\(dq/\"/g; s/\\\\(ga/\`/g
        s/\\\\(ti/~/g; s/\\\\(ha/^/g; s/\\\\&//g; s/\\\\e/\\\\/g; /^\\./!b; s/^\\.B //" \
        "$1" | tr -s ' \n' '  '
}

# options of a help, without their values
options() { # HELP
    sed -n '/^\(options\|flags\).*:$/,/^$/s/^  \(-[^ ,]*\).*/\1/p' "$1"
}

# Every option of the help stands in FILE.
all_in() { # HELP FILE
    options "$1" >"$tmp/options"
    [ -s "$tmp/options" ] || return 1
    while read -r option; do
        grep -q -e "$option" "$2" || { echo "# no $option"; return 1; }
    done <"$tmp/options"
}

n=0
for program in moe-layout moe-bench; do
    sh "$commands" "$program" | cut -d ' ' -f 1 >"$tmp/commands"
    while read -r command; do
        n=$((n + 1))
        page=$pages/$program-$command.1
        "$program" "$command" --help >"$tmp/help" </dev/null
        plain "$page" >"$tmp/plain"
        status=0
        for part in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES 'SEE ALSO'; do
            grep -q "^\.SH $part$" "$page" || { echo "# no $part"; status=1; }
        done
        all_in "$tmp/help" "$tmp/plain" || status=1
        # all words of the help but its titles, anywhere
        sed 's/^usage: //; s/^[Ee]xamples*: *//; s/^[Ee]xit[a-z ]*: //
            /^options:$/d' "$tmp/help" | tr -s ' ' '\n' >"$tmp/words"
        while read -r word; do
            grep -q -F -e "$word" "$tmp/plain" ||
                { echo "# no '$word'"; status=1; break; }
        done <"$tmp/words"
        claim $status "page of $program $command: all parts, all of its help"
    done <"$tmp/commands"
    plain "$pages/$program.1" >"$tmp/plain"
    status=0
    while read -r command; do
        escaped=$(echo "$command" | sed 's/-/\\-/g')
        grep -q -F ".B $escaped" "$pages/$program.1" &&
            grep -q "$program-$command (1)" "$tmp/plain" || status=1
    done <"$tmp/commands"
    claim $status "page of $program: all of its commands"
done
claim $((n < 20)) "the commands were found ($n)"
moe-train --help >"$tmp/help"
plain "$pages/moe-train.1" >"$tmp/plain"
all_in "$tmp/help" "$tmp/plain"
claim $? "page of moe-train: all of its flags"

if has groff; then
    for page in "$pages"/*.1; do
        (cd "$share/man" && groff -man -Tutf8 -wall -z "$page")
    done >"$tmp/out" 2>&1
    is "groff has nothing to say of the pages" "$(cat "$tmp/out")" ""
else
    echo "ok - groff on the pages # SKIP not installed: groff"
fi

# ---- bash ----

complete_bash() { # WORD...: completions of the last word
    bash -c '. "$1/bash-completion/completions/$2"
        shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _${1//-/_}; printf "%s\n" "${COMPREPLY[@]}"' bash "$share" "$@"
}
is "bash: commands" "$(complete_bash moe-layout pl)" plan
is "bash: options of a command only" \
    "$(complete_bash moe-layout count --e | tr '\n' ' ')" "--empty-stages "
is "bash: the words that a value is one of" \
    "$(complete_bash moe-layout plan --print '' | tr '\n' ' ')" "flag layout list "
is "bash: behind =" "$(complete_bash moe-layout plan --print = fl)" flag
mkdir -p "$tmp/work/a folder"
: >"$tmp/work/a file.sh"
cd "$tmp/work" || exit 1
is "bash: files with spaces" "$(complete_bash moe-layout read 'a fi')" "a file.sh"
is "bash: folders where one is wanted" "$(complete_bash moe-bench run --out a)" \
    "a folder"
is "bash: nothing for a number" "$(complete_bash moe-layout plan --gbs a)" ""
cd "$tmp" || exit 1
status=0
for program in moe-layout moe-bench; do
    sh "$commands" "$program" | cut -d ' ' -f 1 >"$tmp/commands"
    while read -r command; do
        "$program" "$command" --help >"$tmp/help" </dev/null
        { complete_bash "$program" "$command" --
            complete_bash "$program" "$command" -; } >"$tmp/out"
        all_in "$tmp/help" "$tmp/out" || status=1
    done <"$tmp/commands"
done
claim $status "bash: every option of every command"

# ---- zsh and fish ----

status=0
for program in moe-layout moe-bench moe-train; do
    for file in "$share/zsh/site-functions/_$program" \
        "$share/fish/vendor_completions.d/$program.fish"; do
        [ -s "$file" ] || status=1
    done
done
claim $status "files for zsh and fish are there"
if has zsh; then
    # a terminal of zsh's own, in which the key is pressed
    cat >"$tmp/press.zsh" <<'Z'
zmodload zsh/zpty
zpty z "TERM=dumb zsh -f"
zpty -w z "PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D"
zpty -w z "LISTMAX=1000; zstyle ':completion:*' list-prompt ''; echo be''gin"
zpty -r z line '*begin*'
zpty -w -n z "$2"$'\t\t'
text=
repeat 20; do
    sleep 0.1
    while zpty -r -t z line; do text+=$line; done
    [[ $text == *$3* ]] && break
done
zpty -d z
[[ $text == *$3* ]] || { print -r -- "# $text"; exit 1 }
Z
    zsh -f "$tmp/press.zsh" "$share/zsh/site-functions" \
        'moe-layout plan --memory-m' memory-margin
    claim $? "zsh: an option is completed"
    zsh -f "$tmp/press.zsh" "$share/zsh/site-functions" \
        'moe-layout profile-l' profile-layouts
    claim $? "zsh: a command is completed"
else
    echo "ok - zsh completes # SKIP not installed: zsh"
fi
if has fish; then
    fish_says() { # LINE
        fish -N -c ". $share/fish/vendor_completions.d/${1%% *}.fish
            complete -C '$1'" 2>/dev/null | cut -f 1 | tr '\n' ' '
    }
    is "fish: commands" "$(fish_says 'moe-layout profile')" "profile-layouts "
    is "fish: options of a command" "$(fish_says 'moe-layout count --em')" \
        "--empty-stages "
    is "fish: the words that a value is one of" \
        "$(fish_says 'moe-layout plan --print l')" "layout list "
else
    echo "ok - fish completes # SKIP not installed: fish"
fi
