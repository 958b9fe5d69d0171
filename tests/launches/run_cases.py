"""run_cases.py BUILD_DIR [FOLDER] [ID...]: runs the launch cases of FOLDER (that of
this file) and prints one line of TAP a case; README.md says what `expect` may hold."""
import json
import os
import re
import subprocess
import sys

# absent and this are the same
NOTHING = {"num_experts": 0, "moe_router_topk": 0, "moe_layers": 0,
           "moe_ffn_hidden_size": 0, "mtp_num_layers": 0, "vpp": 1}


def stages(layout):
    """units of each stage, whatever the spelling"""
    text = re.sub(r"[\s,'\"]", "", layout)
    while True:
        longer = re.sub(r"\(([^()]*)\)(?:\*(\d+))?",
                        lambda m: m[1] * int(m[2] or 1), text)
        if longer == text:
            break
        text = longer
    text = re.sub(r"([EtmL|])\*(\d+)", lambda m: m[1] * int(m[2]), text)
    return text.split("|")


def plain(text):
    return text.replace("_", "-").lower()


def near(a, b, tolerance=0.06):
    if a is None or b is None:
        return a is b
    return abs(a - b) <= max(tolerance, 1e-6 * abs(b))


def all_near(got, want, tolerance=0.06):
    return len(got) == len(want) and all(
        near(a, b, tolerance) for a, b in zip(got, want))


def leaves(value):
    if isinstance(value, dict):
        return [t for v in value.values() for t in leaves(v)]
    if isinstance(value, list):
        return [t for v in value for t in leaves(v)]
    return [str(value)]


class Answer:
    def __init__(self, build, folder, words):
        program = "moe-bench" if words[0] == "parse" else "moe-layout"
        run = subprocess.run([os.path.join(build, program)] + words, cwd=folder,
                             capture_output=True, timeout=60,
                             stdin=subprocess.DEVNULL)
        self.exit = run.returncode
        self.out = run.stdout.decode("utf-8", "replace")
        self.err = run.stderr.decode("utf-8", "replace")
        try:
            self.json = json.loads(self.out)
        except ValueError:
            self.json = {}
        if not isinstance(self.json, dict):
            self.json = {}
        self.said = plain(self.out + self.err)
        self.warned = plain("\n".join(
            leaves([self.json.get("warnings"), self.json.get("assumed")]))
            + self.err)
        self.launch = self.json.get("launch") or {}

    def value(self, key):
        value = (self.json.get("values") or {}).get(key)
        if key == "moe_layers" and isinstance(value, list):
            value = sum(map(bool, value))
        return value

    def has(self, key, want):
        got = self.value(key)
        if key == "layout" and want is not None:
            return isinstance(got, str) and stages(got) == stages(want)
        if got is None and NOTHING.get(key) == want:
            return True
        return got == want


def of_values(a, e):
    for key, want in e.get("values", {}).items():
        if not a.has(key, want):
            yield f"{key} is {a.value(key)}, want {want}"
    for key, want in e.get("if_known", {}).items():
        if a.value(key) is not None and not a.has(key, want):
            yield f"{key} is {a.value(key)}, want {want} or nothing"
    for key, want in e.get("one_of", {}).items():
        if a.value(key) is not None and a.value(key) not in want:
            yield f"{key} is {a.value(key)}, want one of {want}"
    for key, wrong in e.get("not", {}).items():
        if a.value(key) == wrong:
            yield f"{key} is {wrong}, which is wrong"
    if "by_line" in e:
        row = e["by_line"].get(str(a.launch.get("line")))
        if row is None and a.exit == 0:
            yield f"line {a.launch.get('line')} starts nothing"
        for key, want in (row or {}).items():
            if not a.has(key, want):
                yield f"{key} is {a.value(key)}, want {want} of that line"


def of_texts(a, e):
    for text in e.get("names", []):
        if plain(text) not in a.said:
            yield f"'{text}' is not named"
    for text in e.get("absent", []):
        if plain(text) in a.said:
            yield f"'{text}' is said"
    for text in e.get("warned", []):
        if plain(text) not in a.warned:
            yield f"no warning of '{text}'"
    for text in e.get("not_warned", []):
        if plain(text) in a.warned:
            yield f"a warning of '{text}'"
    changes = plain("\n".join(leaves(a.json.get("changes_model"))))
    for flag in e.get("changes", []):
        if plain(flag) not in changes:
            yield f"'{flag}' is not in changes_model"
    shown = [float(x) for x in re.findall(
        r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", a.out)]
    for number in e.get("numbers", []):
        if not any(near(x, number, 5e-3) for x in shown):
            yield f"{number} is not shown"


def of_facts(a, e):
    if "exit" in e:
        want = e["exit"] if isinstance(e["exit"], list) else [e["exit"]]
        if a.exit not in want:
            yield f"exit {a.exit}, want {want}: {a.err.strip()[-160:]}"
    for key, want in e.get("from", {}).items():
        got = str((a.json.get("from") or {}).get(key, ""))
        if not got.startswith(want):
            yield f"{key} is from '{got}', want '{want}'"
    if "source" in e and a.json.get("source") != e["source"]:
        yield f"source {a.json.get('source')}, want {e['source']}"
    for key, want in e.get("launch", {}).items():
        if a.launch.get(key) != want:
            yield f"launch.{key} is {a.launch.get(key)}, want {want}"
    if "valid" in e and a.json.get("valid") is not e["valid"]:
        yield f"valid is {a.json.get('valid')}, want {e['valid']}"
    if "default" in e:
        rows = [r.get("layout") for r in a.json.get("baselines") or []
                if r.get("name") == "default"]
        if not rows or not rows[0] or stages(rows[0]) != stages(e["default"]):
            yield f"default split {rows}, want {e['default']}"
    for key, want in e.get("params", {}).items():
        got = (a.json.get("params") or {}).get(key)
        if got not in (want if isinstance(want, list) else [want]):
            yield f"{key} parameters {got}, want {want}"


def of_log(a, e):
    want = e.get("parse")
    if want is None:
        return
    rows = a.json.get("iterations") or []
    steps = [r.get("step_ms") for r in rows]
    if "steps" in want and not all_near(steps, want["steps"]):
        yield f"steps {steps}, want {want['steps']}"
    losses = [r.get("loss") for r in rows]
    if "losses" in want and not all_near(losses, want["losses"], 5e-3):
        yield f"losses {losses}, want {want['losses']}"
    usable = [r.get("usable") for r in rows]
    if "usable" in want and usable != want["usable"]:
        yield f"usable {usable}, want {want['usable']}"
    for wrong in want.get("no_step", []):
        if any(s is not None and near(s, wrong) for s in steps):
            yield f"a step of {wrong} ms"
    if "failure" in want:
        kind = (a.json.get("failure") or {}).get("kind")
        if kind != want["failure"]:
            yield f"failure {kind}, want {want['failure']}"
    if "memory" in want:
        got = sorted((m.get("rank"), m.get("allocated_bytes"),
                      m.get("max_allocated_bytes"))
                     for m in a.json.get("memory") or [])
        if len(got) != len(want["memory"]) or not all(
                all_near(g, w) for g, w in zip(got, want["memory"])):
            yield f"memory {got}, want {want['memory']}"
    for at, name, low, high in want.get("timers", []):
        if not any(t.get("iteration") == at and t.get("name") == name and
                   near(t.get("min_ms"), low, 6e-3) and
                   near(t.get("max_ms"), high, 6e-3)
                   for t in a.json.get("timers") or []):
            yield f"no timer {name} of {low} to {high} ms"


def wrong(a, e):
    """what is not as expected"""
    bad = [w for part in (of_facts, of_values, of_texts, of_log)
           for w in part(a, e)]
    if "any" in e:
        ways = [wrong(a, way) for way in e["any"]]
        if all(ways):
            bad.append("none of: " + " / ".join(w[0] for w in ways))
    return bad


def form(a, words):
    """what every answer of a command has to be"""
    if words[0] == "read" and a.json.get("format") != "moe-layout/read/1":
        return [f"no document of read: {a.err.strip()[-160:]}"]
    if words[0] == "check" and not isinstance(a.json.get("valid"), bool):
        return [f"no verdict: {a.err.strip()[-160:]}"]
    return []


def main(build, folder, only):
    failed = 0
    with open(os.path.join(folder, "cases.jsonl")) as lines:
        cases = [json.loads(line) for line in lines]
    for case in cases:
        if only and case["id"] not in only:
            continue
        where = os.path.join(folder, "cases", case["id"])
        answer = Answer(os.path.abspath(build), where, case["run"])
        bad = form(answer, case["run"]) or wrong(answer, case["expect"])
        failed += bool(bad)
        claim = f"launch case {case['id']}: {case['why']}"
        print(f"not ok - {claim}: {bad[0]}" if bad else f"ok - {claim}")
    return 1 if failed else 0


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else here,
                  sys.argv[3:]))
