#!/bin/sh
# Types the commands of docs/tutorial.md in the folder that it tells of, and
# compares what they print with what stands there; "..." stands for any text.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
build=$(cd "${BUILD:-build/release}" && pwd)
cp -R docs/tutorial "$tmp/work"

# blocks ```console: "$ command", then its output
python3 - docs/tutorial.md "$tmp" "$build" <<'PY'
import re, subprocess, sys, os

page, tmp, build = sys.argv[1:]
blocks = re.findall(r"^```console\n(.*?)^```$", open(page).read(), re.M | re.S)
env = dict(os.environ, PATH=build + ":" + os.environ["PATH"])

def matches(wanted, got):
    """Lines of "..." stand for any lines, " ..." at an end for its rest."""
    pattern = ""
    for line in wanted.splitlines():
        if line == "...":
            pattern += r"(?:.*\n)*"
        elif line.endswith(" ..."):
            pattern += re.escape(line[:-4]) + r".*\n"
        else:
            pattern += re.escape(line) + r" *\n"
    return re.fullmatch(pattern, got) is not None

n = 0
for block in blocks:
    for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, wanted = step.partition("\n")
        run = subprocess.run(["bash", "-c", command], cwd=tmp + "/work", env=env,
                             capture_output=True, text=True)
        n += 1
        if run.returncode == 0 and matches(wanted, run.stdout):
            print("ok - tutorial: " + command)
        else:
            print("not ok - tutorial: %s: exit %d, printed" % (command, run.returncode))
            print(re.sub(r"^", "# ", run.stdout + run.stderr, flags=re.M))
last = "--pipeline-model-parallel-layout"
text = open(tmp + "/work/train.sbatch").read()
print("%s - the tutorial types more than eight commands and ends with the flag in the script"
      % ("ok" if n > 8 and text.count(last) == 1 else "not ok"))
PY
