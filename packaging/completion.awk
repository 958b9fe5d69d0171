# Shell completion of a program from what it and its commands print for --help.
# usage: awk -v shell=bash|zsh|fish -v program=NAME 
#     -f completion.awk COMMANDS HELPS
#
# The first file lists the commands and what they do, a line each (an empty line:
# there are none); the other has the helps, each behind a line "@ COMMAND" ("@"
# alone: of the program). What a
# value is shows in its name: FILE and LOG are files, DIR a folder; where a row
# names the words that it takes, those are offered. Operands are files.

function row_name(line) {
    sub(/^  /, "", line)
    sub(/ .*/, "", line)
    sub(/,$/, "", line)
    return line
}

# "--quiet, -q": the other name, or ""
function row_alias(line) {
    if (line !~ /^  --[a-z-]+, -/)
        return ""
    sub(/^[^,]*, /, "", line)
    sub(/ .*/, "", line)
    return line
}

# "DIR", "" of a switch. Help stands in column 24, or in the next line.
function row_value(line) {
    line = substr(line, 3)
    if (length(line) > 21 && line ~ /  /)
        line = substr(line, 1, 21)
    sub(/^[^ ]+( |$)/, "", line)
    sub(/^-[^ ]+( |$)/, "", line)
    sub(/  .*/, "", line)
    gsub(/^ +| +$/, "", line)
    return line
}

# "print only: flag, layout or list": the words that a value is one of.
function choices(value, help,    n, i, word, all) {
    if (value !~ /^(WHAT|MODE|NAME)$/)
        return ""
    sub(/^[^:(]*: /, "", help)
    sub(/ \(.*/, "", help)
    gsub(/ or /, ", ", help)
    n = split(help, word, /,+ +/)
    for (i = 1; i <= n && word[i] ~ /^[a-z0-9-]+$/; i++)
        all = all (i > 1 ? " " : "") word[i]
    return i > 2 ? all : ""
}

FNR == 1 { file++ }

file == 1 && NF == 0 { next }
file == 1 {
    command[++n_commands] = $1
    what[$1] = $0
    sub(/^[^ ]* ?/, "", what[$1])
    next
}
/^@/ { of = $2; part = ""; flags = 0; next }
/^(options|flags).*:$/ { part = "options"; flags = /^flags/; next }
part == "options" && /^  -/ {
    n = ++n_rows[of]
    names[of, n] = row_name($0)
    aliases[of, n] = row_alias($0)
    values[of, n] = flags ? "" : row_value($0)
    help = flags ? $0 : substr($0, 24)
    if (flags)
        sub(/^  [^ ]* */, "", help)
    helps[of, n] = flags || length($0) > 23 && substr($0, 23, 1) == " " ? help : ""
    next
}
part == "options" && /^   / {
    line = $0
    sub(/^ */, "", line)
    helps[of, n] = helps[of, n] (helps[of, n] == "" ? "" : " ") line
    next
}
{ part = "" }

# ---- bash ----

function bash_values(of,    i, name, value) {
    for (i = 1; i <= n_rows[of]; i++) {
        value = values[of, i]
        name = names[of, i] (aliases[of, i] == "" ? "" : "|" aliases[of, i])
        if (value == "")
            continue
        if (choices(value, helps[of, i]) != "")
            print "        " name ") COMPREPLY=($(compgen -W '" \
                choices(value, helps[of, i]) "' -- \"$cur\")); return ;;"
        else if (value ~ /DIR$/)
            print "        " name ") mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); return ;;"
        else if (value ~ /(FILE|LOG)$/)
            print "        " name ") mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;"
        else
            print "        " name ") return ;;"
    }
}

function bash_words(of,    i, all) {
    for (i = 1; i <= n_rows[of]; i++)
        all = all (i > 1 ? " " : "") names[of, i]
    return all
}

function bash_case(of) {
    print "        case $prev in"
    bash_values(of)
    print "        esac"
    print "        words='" bash_words(of) "'"
}

function bash_commands(    i, all) {
    for (i = 1; i <= n_commands; i++)
        all = all (i > 1 ? " " : "") command[i]
    return all
}

function bash(    i, f) {
    f = "_" program
    gsub(/-/, "_", f)
    print "# bash completion of " program ", made from --help; do not edit"
    print f "() {\n    local cur=${COMP_WORDS[COMP_CWORD]} prev words i"
    print "    COMPREPLY=()"
    print "    prev=${COMP_WORDS[COMP_CWORD-1]}"
    print "    # --name=value comes in three words"
    print "    if [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then"
    print "        prev=${COMP_WORDS[COMP_CWORD-2]}\n    fi"
    if (n_commands > 0) {
        print "    if [ \"$COMP_CWORD\" -eq 1 ]; then"
        print "        COMPREPLY=($(compgen -W '" bash_commands() \
            " --help --version' -- \"$cur\"))\n        return\n    fi"
        print "    # behind -- stand Megatron's flags"
        print "    for ((i = 2; i < COMP_CWORD; i++)); do"
        print "        [ \"${COMP_WORDS[i]}\" = -- ] && return\n    done"
        print "    case ${COMP_WORDS[1]} in"
        for (i = 1; i <= n_commands; i++) {
            print "    " command[i] ")"
            bash_case(command[i])
            print "        ;;"
        }
        print "    esac"
    } else
        print "    words='" bash_words("") "'"
    print "    if [[ $cur == -* ]]; then"
    print "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))"
    print "    else\n        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n    fi\n}"
    print "complete -o filenames -F " f " " program
}

# ---- zsh ----

function zsh_text(text) {
    gsub(/'/, "'\\''", text)
    gsub(/[\[\]:]/, "\\\\&", text)
    return text
}

function zsh_rows(of, indent,    i, value, tail, words) {
    for (i = 1; i <= n_rows[of]; i++) {
        value = values[of, i]
        words = choices(value, helps[of, i])
        tail = ""
        if (words != "")
            tail = ":" value ":(" words ")"
        else if (value ~ /DIR$/)
            tail = ":" value ":_files -/"
        else if (value ~ /(FILE|LOG)$/)
            tail = ":" value ":_files"
        else if (value != "")
            tail = ":" zsh_text(value) ": "
        print indent "'*" names[of, i] "[" zsh_text(helps[of, i]) "]" tail "' \\"
        if (aliases[of, i] != "")
            print indent "'*" aliases[of, i] "[" zsh_text(helps[of, i]) "]" \
                tail "' \\"
    }
    print indent "'*:file:_files'"
}

function zsh(    i) {
    print "#compdef " program
    print "# zsh completion of " program ", made from --help; do not edit"
    if (n_commands == 0) {
        print "_arguments \\"
        zsh_rows("", "    ")
        return
    }
    print "local -a commands=("
    for (i = 1; i <= n_commands; i++)
        print "    '" command[i] ":" zsh_text(what[command[i]]) "'"
    print ")\nif ((CURRENT == 2)); then\n    _describe command commands"
    print "    return\nfi"
    print "local name=$words[2]\nshift words\n((CURRENT--))\ncase $name in"
    for (i = 1; i <= n_commands; i++) {
        print command[i] ")\n    _arguments \\"
        zsh_rows(command[i], "        ")
        print "    ;;"
    }
    print "esac"
}

# ---- fish ----

function fish_text(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/'/, "\\'", text)
    return "'" text "'"
}

function fish_rows(of, when,    i, value, line, words) {
    for (i = 1; i <= n_rows[of]; i++) {
        value = values[of, i]
        words = choices(value, helps[of, i])
        line = "complete -c " program when
        if (names[of, i] ~ /^--/)
            line = line " -l " substr(names[of, i], 3)
        else
            line = line " -s " substr(names[of, i], 2)
        if (aliases[of, i] != "")
            line = line " -s " substr(aliases[of, i], 2)
        if (words != "")
            line = line " -x -a '" words "'"
        else if (value ~ /DIR$/)
            line = line " -x -a '(__fish_complete_directories)'"
        else if (value ~ /(FILE|LOG)$/)
            line = line " -r -F"
        else if (value != "")
            line = line " -x"
        print line " -d " fish_text(helps[of, i])
    }
}

function fish(    i) {
    print "# fish completion of " program ", made from --help; do not edit"
    for (i = 1; i <= n_commands; i++)
        print "complete -c " program " -f -n __fish_use_subcommand -a " \
            command[i] " -d " fish_text(what[command[i]])
    for (i = 1; i <= n_commands; i++)
        fish_rows(command[i], \
            " -n '__fish_seen_subcommand_from " command[i] "'")
    if (n_commands == 0)
        fish_rows("", "")
}

END {
    if (shell == "bash")
        bash()
    else if (shell == "zsh")
        zsh()
    else
        fish()
}
