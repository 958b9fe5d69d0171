# A manual page from what a program prints for --help, so that both are one
# text. usage: PROGRAM [COMMAND] --help | awk -v name=PAGE -v version=V
#     [-v what=LINE] [-v list=FILE] [-v also=PAGES] [-v tell=FILE] -f man.awk
# `what` the page is of, else its first sentence, is added to the file `tell`;
# `list` has such lines, a command each, for the page of their program.
#
# The form of all helps: "usage:" and a synopsis, what it does, "options:" (or
# "flags:") with a row each, exit status, examples. Of a program with commands,
# indented rows behind "usage:" are its commands. Indented text stays as it is.

function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/"/, "\\(dq", text)
    gsub(/'/, "\\(aq", text)
    gsub(/`/, "\\(ga", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    return text ~ /^\./ ? "\\&" text : text
}

function section(title) {
    fill()
    print ".SH " title
    first = 1
}

# text as it stands, until the next fill()
function verbatim() {
    if (!kept)
        print (first ? "" : ".PP\n") ".nf"
    kept = 1
    first = 0
}

function fill() {
    if (kept)
        print ".fi"
    kept = 0
}

# Up to the first stop: what a list of pages shows of this one.
function sentence(text) {
    sub(/(\. |\.$|: ).*/, "", text)
    if (length(text) > 100)
        sub(/ \(.*/, "", text)
    if (text !~ /^[A-Z][A-Z]/)
        text = tolower(substr(text, 1, 1)) substr(text, 2)
    return text
}

# ---- what was read ----

function take_text(line) {
    if (line == "") {
        n_text += n_text > 0
        text[n_text] = ""
        return
    }
    text[++n_text] = line
}

# "Example: words", and the lines that go on from it
function take_example(line) {
    examples[++n_examples] = line
}

function is_example(line) {
    return line ~ /^[Ee]xamples?:/
}

function goes_on(line) {
    return in_example && (line ~ /^ / || n_examples == 0)
}

function take_option(line,    name, help) {
    if (line ~ /^  -/ && flags) {
        name = line
        sub(/^  /, "", name)
        sub(/ .*/, "", name)
        help = line
        sub(/^  [^ ]* */, "", help)
    } else if (line ~ /^  -/) {
        name = length(line) > 23 && substr(line, 23, 1) == " " \
            ? substr(line, 3, 20) : substr(line, 3)
        help = name == substr(line, 3) ? "" : substr(line, 24)
        sub(/ *$/, "", name)
    }
    if (line ~ /^  -/) {
        option[++n_options] = name
        option_help[n_options] = help
        return
    }
    sub(/^ */, "", line)
    option_help[n_options] = option_help[n_options] \
        (option_help[n_options] == "" ? "" : " ") line
}

BEGIN {
    part = "head"
    while (list != "" && (getline line < list) > 0) {
        word = line
        sub(/ .*/, "", word)
        sub(/^[^ ]* /, "", line)
        whats[word] = line
    }
}

part == "head" && /^usage: / {
    part = "synopsis"
    synopsis[++n_synopsis] = substr($0, 8)
    next
}
part == "head" && /^usage:$/ { part = "commands"; next }
part == "head" && /^[^ ]+ [0-9.]+: / {
    if (what == "") {
        what = $0
        sub(/^[^:]*: /, "", what)
    }
    next
}
part == "synopsis" && $0 == "" { part = "text"; next }
part == "synopsis" { synopsis[++n_synopsis] = $0; next }
# of a program: "usage: NAME COMMAND [options]", then rows
part == "text" && list != "" && /^  [a-z]/ && !in_example {
    part = "commands"
    commands[++n_commands] = $0
    next
}
part == "commands" && /^  / && !in_example {
    commands[++n_commands] = $0
    next
}
part == "commands" && n_commands > 0 && $0 == "" { part = "after"; next }
/^(options|flags).*:$/ && n_options == 0 {
    part = "options"
    flags = /^flags/
    in_example = 0
    next
}
part == "options" && /^  / { take_option($0); next }
part == "options" { part = "after"; in_example = 0; if ($0 == "") next }
/. Exit status: / { # behind other words, of a program
    before = $0
    sub(/ Exit status: .*/, "", before)
    take_text(before)
    sub(/.* Exit status: /, "Exit status: ")
}
/^[Ee]xit( status)?: / {
    in_example = 0
    in_exit = 1
    exits[++n_exits] = $0
    sub(/^[^:]*: /, "", exits[n_exits])
    next
}
is_example($0) {
    in_exit = 0
    in_example = 1
    line = $0
    sub(/^[^:]*: */, "", line)
    if (line != "")
        take_example(line)
    next
}
/ Example:$/ { # behind other words, of a program
    sub(/ Example:$/, "")
    take_text($0)
    in_example = 1
    next
}
goes_on($0) { take_example($0); next }
in_exit && $0 != "" { exits[++n_exits] = $0; next }
{ in_example = in_exit = 0; take_text($0) }

# ---- the page ----

function first_words(    i, all) {
    for (i = 1; i <= n_text && text[i] != ""; i++)
        all = all (i > 1 ? " " : "") text[i]
    return sentence(all)
}

function print_text(    i) {
    for (i = 1; i <= n_text; i++) {
        if (text[i] == "") {
            fill()
            if (i < n_text)
                print ".PP"
        } else if (text[i] ~ /^ /) {
            verbatim()
            print roff(text[i])
        } else {
            fill()
            print roff(text[i])
            first = 0
        }
    }
}

function print_examples(    i, line, indent) {
    print ".nf"
    kept = 1
    for (i = 1; i <= n_examples; i++) {
        line = examples[i]
        if (match(line, /^ +/))
            indent = RLENGTH
        sub(/^ +/, "", line)
        # what goes on from a line with a backslash is set in
        print (i > 1 && examples[i - 1] ~ /\\$/ ? "    " : "") roff(line)
    }
}

# Rows of two spaces begin a command; deeper ones go on with its synopsis, or
# say what it does, which its own page tells as well.
function print_command(line,    word) {
    if (line !~ /^  [a-z]/)
        return
    sub(/^  /, "", line)
    sub("^" name " ", "", line)
    word = line
    sub(/ .*/, "", word)
    print ".TP\n.B " roff(line) "\n" roff(whats[name "-" word])
}

function bare(line) {
    sub(/^ */, "", line)
    return line
}

END {
    if (what == "")
        what = first_words()
    if (tell != "")
        print name " " what >>tell
    title = toupper(name)
    print ".\\\" made from --help; do not edit"
    print ".TH " title " 1 \"\" \"" version "\" \"User Commands\""
    section("NAME")
    print name " \\- " roff(what)
    section("SYNOPSIS")
    print ".na\n.nh\n.in +4n\n.ti -4n"
    for (i = 1; i <= n_synopsis; i++)
        print roff(bare(synopsis[i]))
    if (n_synopsis == 0)
        print roff(name) " COMMAND [options]"
    print ".in\n.hy\n.ad"
    if (n_text > 0) {
        section("DESCRIPTION")
        print_text()
    }
    if (n_commands > 0)
        section("COMMANDS")
    for (i = 1; i <= n_commands; i++)
        print_command(commands[i])
    if (n_options > 0)
        section("OPTIONS")
    for (i = 1; i <= n_options; i++)
        printf ".TP\n.B %s\n%s\n", roff(option[i]),
            option_help[i] == "" ? "(see Megatron\\-LM)" : roff(option_help[i])
    if (n_exits > 0) {
        section("EXIT STATUS")
        for (i = 1; i <= n_exits; i++)
            print roff(exits[i])
    }
    if (n_examples > 0) {
        section("EXAMPLES")
        print_examples()
    }
    if (also != "") {
        section("SEE ALSO")
        n = split(also, page, " ")
        for (i = 1; i <= n; i++)
            print ".BR " roff(page[i]) " (1)" (i < n ? "," : "")
    }
    fill()
}
