#!/bin/sh
# Hostile scripts: planner/shell runs nothing, writes nothing, and comes to its
# end in time and memory, whatever the script says.
calls=$(pwd)/${BUILD:-build/release}/tests/shell_calls
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/run"
cd "$work/run" || exit 1
[ -x "$calls" ] || {
    echo "not ok - $calls is not built"
    exit 1
}
printf 'all:\n\ttouch PWNED\n' >Makefile
printf '#!/bin/sh\ntouch PWNED\n' >evil.sh
chmod +x evil.sh

# every form in which bash would run `touch PWNED`
cat >"$work/forms" <<'FORMS'
touch PWNED
$(touch PWNED)
`touch PWNED`
x=$(touch PWNED); echo "$x"
echo "$(touch PWNED)" "`touch PWNED`"
echo $(( $(touch PWNED) + 1 ))
a[$(touch PWNED)]=1
echo ${a[$(touch PWNED)]}
echo ${x:-$(touch PWNED)} ${x:=`touch PWNED`}
eval touch PWNED
eval "$(echo touch PWNED)"
bash -c 'touch PWNED'
sh -c "touch PWNED" &
touch PWNED & wait
(touch PWNED); { touch PWNED; }
f() { touch PWNED; }; f
trap 'touch PWNED' EXIT DEBUG
echo x > PWNED
: > PWNED
cat <<< x >> PWNED
echo x | tee PWNED
cat <(touch PWNED) > >(cat > PWNED)
cat <<A
$(touch PWNED)
A
if touch PWNED; then touch PWNED; fi
while touch PWNED; do break; done
for i in $(touch PWNED); do touch PWNED; done
case $(touch PWNED) in *) touch PWNED;; esac
[[ -n $(touch PWNED) ]] && touch PWNED
[ "$(touch PWNED)" ] || touch PWNED
./evil.sh; bash evil.sh; . ./evil.sh; sh ./evil.sh
make; make -f Makefile all
exec touch PWNED
env touch PWNED; nohup touch PWNED; sudo touch PWNED; command touch PWNED
xargs touch PWNED <<< ''; find . -exec touch PWNED \;
python3 -c "open('PWNED','w')"; perl -e 'open F,">PWNED"'
awk 'BEGIN{system("touch PWNED")}'; sed -n '1w PWNED' Makefile
srun bash -c 'touch PWNED'; sbatch --wrap 'touch PWNED'; ssh localhost touch PWNED
PS4='$(touch PWNED)'; set -x; echo a
PROMPT_COMMAND='touch PWNED'; BASH_ENV=evil.sh bash -c :
printf -v x "$(touch PWNED)"; read x < <(touch PWNED); mapfile x < <(touch PWNED)
declare x=$(touch PWNED); local y=$(touch PWNED); export z=$(touch PWNED)
x='$(touch PWNED)'; echo $x; eval echo $x; echo ${x@P}
x='a[$(touch PWNED)]'; echo $((x)); let x; [[ x -eq 1 ]]; declare -n r=$x; echo $r
rm -rf ./*; rm -rf -- "$PWD"; mv Makefile PWNED; cp Makefile PWNED; ln -s Makefile PWNED
coproc touch PWNED
alias l='touch PWNED'; l
git clone x PWNED; curl -o PWNED file:///etc/passwd; dd if=/dev/zero of=PWNED
mkdir PWNED; mkfifo PWNED; mktemp PWNED.XXXX
FORMS
n=0
while IFS= read -r line; do
    case $line in
    'cat <<A') printf 'cat <<A\n$(touch PWNED)\nA\n' >form.sh ;;
    *) printf '%s\ntorchrun x\n' "$line" >form.sh ;;
    esac
    timeout 20 "$calls" form.sh >"$work/out" 2>&1
    n=$((n + 1))
    if [ -e PWNED ] || [ ! -f Makefile ] || [ ! -f evil.sh ] ||
        [ "$(ls | wc -l)" -ne 3 ]; then
        echo "not ok - this ran: $line"
        rm -rf PWNED
    fi
done <"$work/forms"
if [ ! -e PWNED ]; then
    echo "ok - $n forms of a planted command, none of them ran"
fi

# name, text: read or refused within 5 s of CPU and 200 MB, and no child is left
hostile() {
    printf '%s\n' "$2" >hostile.sh
    (
        ulimit -t 5
        case $calls in *asan*) ;; *) ulimit -v 200000 ;; esac
        "$calls" -s hostile.sh >"$work/out" 2>&1
    )
    status=$?
    if [ $status -eq 0 ] || [ $status -eq 2 ]; then
        echo "ok - $1: $(cut -c1-90 "$work/out")"
    else
        echo "not ok - $1: status $status: $(head -c 300 "$work/out")"
    fi
}

repeat() { # TEXT TIMES
    awk -v t="$1" -v n="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s", t }'
}

hostile "a fork bomb" ':(){ :|:& };:'
hostile "another" 'bomb() { bomb | bomb & }; bomb'
hostile "a loop without an end" 'while true; do :; done; torchrun x'
hostile "one that counts" 'while :; do i=$((i+1)); done'
hostile "one that launches" 'for ((;;)); do torchrun $((i++)); done'
hostile "a text that doubles" 'X=ab; for i in {1..99}; do X=$X$X; done'
hostile "a list that doubles" 'A=(a); while :; do A+=("${A[@]}"); done'
hostile "a file that sources itself" '. ./hostile.sh'
hostile "a file that starts itself" 'bash hostile.sh; ./hostile.sh'
hostile "devices" '. /dev/zero; cat /dev/random; read x < /dev/tty; $(< /dev/zero)'
hostile "/proc" '. /proc/self/environ; cat /proc/kmsg; . /proc/self/fd/0'
hostile "a function that calls itself" 'f() { f; }; f'
hostile "twice" 'f() { f; f; $(f); }; f'
hostile "large braces" 'echo {1..999999999}'
hostile "braces multiplied" "echo $(repeat '{a,b}' 40)"
hostile "a large seq" 'for i in $(seq 1 999999999); do :; done'
hostile "a wide printf" 'printf "%999999999d" 1; printf "%*s" 999999999 x'
hostile "deep parentheses" "$(repeat '(' 50000)"
hostile "deep substitutions" "echo $(repeat '$(' 50000)"
hostile "deep quotes" "echo $(repeat '"$(' 9000)"
hostile "deep arithmetic" "echo \$(( $(repeat '(' 50000)"
hostile "signs" "echo \$(( $(repeat '-' 50000)1 ))"
hostile "deep ifs" "$(repeat 'if true; then ' 20000)"
hostile "deep tests" "[[ $(repeat '( ' 50000)"
hostile "deep parameters" "echo $(repeat '${a:-' 50000)"
hostile "a long line" "torchrun $(repeat a 1000000)"
hostile "many words" "torchrun $(repeat 'a ' 400000)"
hostile "stars" "X=$(repeat a 5000); [[ \$X == $(repeat '*a' 60)b ]]"
hostile "stars in a replacement" "X=$(repeat a 90000); echo \${X//a*b/c} \${X##*b}"
hostile "a pattern that backtracks" "shopt -s extglob
X=$(repeat a 4000); [[ \$X == +(+(a|aa)|*(a))b ]]"
hostile "a large expression" '[[ a =~ (((a{1,99}){1,99}){1,99}){1,99} ]]'
hostile "many questions" "$(repeat 'if $(hostname); then torchrun x; fi
' 2000)"
hostile "many choices" "$(repeat 'if [ $(hostname) = a ]; then A=$A$B; B=$B$A; fi
' 300)torchrun \$A \$B"
hostile "nested questions" "$(repeat 'if hostname; then torchrun x; ' 60)$(repeat 'fi;' 60)"
hostile "cases" "case \$(hostname) in $(repeat 'a) torchrun x;; ' 500)esac"
hostile "here-documents" "cat $(repeat '<<A ' 100)"
hostile "powers" 'echo $((2**999999999999)) $((1/0)) $((-9223372036854775808/-1))'
hostile "bytes" "$(printf '\001\002\003\004\005\177\377$(\001)')"
