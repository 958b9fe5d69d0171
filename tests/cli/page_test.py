"""Drives the page of test_page.sh in a browser: clicks every control at two
widths and compares what the table then shows with the CSV files, which are read
here by themselves. usage: page_test.py RESULTS PAGE WHOLE ; speaks TAP. WHOLE is
a page of more datasets, which is looked through only."""
import csv
import glob
import json
import math
import os
import sys
import time

from page_browser import Browser

RESULTS, PAGE, WHOLE = sys.argv[1:]
WIDTHS = (1280, 360)
SOME = 50  # rows shown at first, and more of
COLUMNS = ("layout", "name", "what", "set", "kind", "status", "pred", "meas",
           "error", "pred_mem", "meas_mem", "mem_error")
NUMBERS = COLUMNS[6:]
TOLERANCE = 1e-6  # of a figure: the page has nine digits of it


def claim(ok, what, got=None):
    print("%sok - %s" % ("" if ok else "not ", what))
    if not ok and got is not None:
        print("# got: %.800s" % (got,))


# ---- what the CSV files say ------------------------------------------------------

def table(*path):
    name = os.path.join(RESULTS, *path)
    if not os.path.exists(name):
        return []
    with open(name, newline="") as file:
        return list(csv.DictReader(file))


def number(text, unit=1.0):
    return float(text) * unit if text else None


def error(pred, meas):
    if pred is None or not meas:
        return None
    return 100 * (pred - meas) / meas


def row(where, what, **known):
    r = dict.fromkeys(COLUMNS, None)
    r.update(known, set=where, what=what)
    r["error"] = error(r["pred"], r["meas"])
    r["mem_error"] = error(r["pred_mem"], r["meas_mem"])
    return r


def experiment(where):
    layouts = table(where, "layouts.csv")
    by_layout = {(l["role"], l["layout"]): l for l in layouts}
    for l in layouts:
        yield row(where, "layout", name=l["role"], layout=l["layout"],
                  kind=l["source"], status="valid",
                  pred=number(l["pred_step_ms"]), meas=number(l["meas_step_ms"]),
                  pred_mem=number(l["worst_stage_pred_mem_bytes"]),
                  meas_mem=number(l["worst_stage_meas_mem_bytes"]))
    for r in table(where, "runs.csv"):
        l = by_layout.get((r["role"], r["layout"]), {})
        yield row(where, "run", name=r["run_id"], layout=r["layout"],
                  kind=r["source"], status=r["status"], reason=r["reason"],
                  pred=number(l.get("pred_step_ms")),
                  meas=number(r["meas_step_corr_ms"]),
                  pred_mem=number(l.get("worst_stage_pred_mem_bytes")))


def plans(where):
    for r in table(where, "recipes.csv"):
        yield row(where, "plan", name=r["who"], layout=r["layout"] or r["who"],
                  kind="assumed", reason=r["reason"],
                  status="refused" if r["reason"] else "valid",
                  pred=number(r["pred_step_ms"]),
                  pred_mem=number(r["worst_rank_mem_bytes"]))


def step_times(where):
    predicted = {(p["source"], p["id"]): p
                 for p in table("published", "predicted.csv")}
    for r in table(where, "rows.csv"):
        p = predicted.get((r["source"], r["id"]), {})
        why = p.get("why", "")
        status = "excluded" if r["exclude"] == "1" else \
            "not used" if not r["use"] else "not covered" if why else "valid"
        yield row(where, "step time", name=r["id"], kind="published",
                  layout=r["layout"] or "even split, PP %(pp)s, VPP %(vpp)s" % r,
                  status=status,
                  reason=r["note"] if status == "excluded" else
                  "kept, neither fitted nor predicted"
                  if status == "not used" else why,
                  pred=number(p.get("pred_step_s"), 1e3),
                  meas=number(r["step_s"], 1e3),
                  meas_mem=number(r["memory_gib"], 2.0 ** 30))


def memory(where):
    for r in table(where, "memory.csv"):
        yield row(where + "/memory", "memory", name=r["platform"],
                  layout=r["case"], kind="published", reason=r["reason"],
                  status="valid" if r["supported"] == "1" else "not covered",
                  pred_mem=number(r["pred_peak_bytes"]),
                  meas_mem=number(r["meas_peak_bytes"]))


def expected():
    rows = []
    for folder, _, files in os.walk(RESULTS):
        where = os.path.relpath(folder, RESULTS)
        for name, read in (("layouts.csv", experiment), ("recipes.csv", plans),
                           ("rows.csv", step_times), ("memory.csv", memory)):
            if name in files:
                rows += read(where)
    for r in rows:
        if r.get("reason"):
            r["status"] += ": " + r["reason"]
    return rows


ALL = expected()


def recorded():
    """Rows with a recorded step: their own, or one of their layout."""
    runs = {(os.path.relpath(f, RESULTS).split("/runs/")[0],
             f.split("/")[-2]): None
            for f in glob.iglob(os.path.join(RESULTS, "**", "ops.csv*"),
                                recursive=True)}
    kept = {(r["set"], r["layout"]) for r in ALL if (r["set"], r["name"]) in runs}
    return [r for r in ALL if (r["set"], r["name"]) in runs or
            r["what"] == "layout" and (r["set"], r["layout"]) in kept]


def valid(r):
    return r["status"] == "valid"


def words(text):
    return lambda r: all(w in "\n".join(r[c] for c in COLUMNS[:6]).lower()
                         for w in text.lower().split())


# ---- the page --------------------------------------------------------------------

SHOWN = """return [...document.querySelectorAll('#table > tbody > tr:not(.detail)')]
    .map(r => [...r.cells].map((c, i) => i < 6 ? c.textContent :
        c.dataset.v === undefined ? null : Number(c.dataset.v)));"""
# what was used, so that nothing is forgotten
WATCH = """for (const type of ['click', 'input', 'change'])
    document.addEventListener(type, e => {
        const c = e.target.closest('button, input, select, summary, a, .dot');
        if (c) c.setAttribute('data-used', '');
    }, true);"""
UNUSED = """return [...document.querySelectorAll('button, input, select, summary, a')]
    .filter(c => c.checkVisibility() && !c.hasAttribute('data-used') &&
        !c.closest('#table > tbody') && !c.href?.startsWith('https://'))
    .map(c => c.id || c.textContent);"""
OVERFLOW = """const e = document.documentElement;
    return [e.scrollWidth, e.clientWidth];"""


class Page:
    def __init__(self, browser, width, path=PAGE):
        self.b, self.width = browser, width
        self.url = "file://" + os.path.abspath(path)
        browser.open(self.url, width)
        browser.run(WATCH)

    def claim(self, ok, what, got=None):
        claim(ok, "%d px: %s" % (self.width, what), got)

    def shown(self):
        return [dict(zip(COLUMNS, cells)) for cells in self.b.run(SHOWN)]

    def shows(self, rows, what):
        """The rows with nothing missing: their number in words, and, as far as
        they are shown, exactly these."""
        said = self.b.run("return document.querySelector('#count').textContent")
        got = self.shown()
        left = [(r["set"], r["name"], r["layout"]) for r in rows]
        here = [(r["set"], r["name"], r["layout"]) for r in got]
        ok = said.startswith("%d of %d rows, %d shown" % (
            len(rows), len(ALL), min(SOME, len(rows)))) and \
            len(here) == min(SOME, len(rows)) and set(here) <= set(left)
        self.claim(ok, what, [said, here[:3]])

    def pick(self, test):
        return [r for r in ALL if test(r)]

    def filters(self):
        for text in ("ip kimi", "nowhere"):
            self.b.type("#text", text)
            self.shows(self.pick(words(text)), "the words '%s'" % text)
        self.b.type("#text", "")
        self.b.type("#layout", "T*5|mL")
        self.shows(self.pick(lambda r: "t*5|ml" in r["layout"].lower()),
                   "a part of a layout")
        self.b.type("#layout", "")
        for field, column in (("#set", "set"), ("#what", "what")):
            for name in sorted({r[column] for r in ALL}):
                self.b.choose(field, name)
                self.shows(self.pick(lambda r: r[column] == name),
                           "%s %s" % (column, ascii(name)))
            self.b.choose(field, "")
        self.b.choose("#status", "valid")
        self.shows(self.pick(valid), "valid rows")
        self.b.choose("#status", "dropped")
        self.shows(self.pick(lambda r: not valid(r)), "dropped rows")
        self.claim(all(": " in r["status"] for r in self.shown()), "dropped rows say why")
        self.b.choose("#status", "")
        for kind in ("measured", "emulated", "published", "assumed"):
            box = "[name=kind][value=%s]" % kind
            self.b.click(box)
            self.shows(self.pick(lambda r: r["kind"] != kind), "no " + kind)
            self.b.click(box)

    def reset(self):
        self.b.choose("#set", "reference/local")
        self.b.type("#text", "run")
        self.b.choose("#status", "valid")
        self.b.click("[name=kind]")
        self.b.click("#reset")
        time.sleep(0.05)  # the fields are reset behind the event
        self.shows(ALL, "reset shows all rows")

    def sorted_by(self, column, down, what):
        """What is not known comes last either way."""
        want = sorted((r[column] for r in ALL if r[column] not in (None, "")),
                      reverse=down)[:SOME]
        got = [r[column] for r in self.shown()]
        same = [math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=1e-7)
                if x is not None and column in NUMBERS else x == y
                for x, y in zip(got, want)]
        said = self.b.run("return [...document.querySelectorAll('thead th')]"
                          ".map(h => h.getAttribute('aria-sort'))")[:12]
        order = ["none"] * len(COLUMNS)
        order[COLUMNS.index(column)] = "descending" if down else "ascending"
        ok = len(got) == SOME and len(same) == len(want) and all(same)
        self.claim(ok and said == order, what, [got[:5], want[:5], said])

    def sorting(self):
        for i, column in enumerate(COLUMNS):
            button = "#table > thead th:nth-child(%d) button" % (i + 1)
            if not self.b.run("return document.querySelector(arguments[0])"
                              ".checkVisibility()", button):
                continue
            self.b.click(button)
            self.sorted_by(column, False, "a click sorts by " + column)
            self.b.click(button)
            self.sorted_by(column, True, "a second one turns " + column)
        if self.b.run("return document.querySelector('#order')"
                      ".checkVisibility()"):
            for i, column in enumerate(COLUMNS):
                self.b.choose("#order", str(i))
                self.sorted_by(column, False, "the list sorts by " + column)
            self.b.click("#turn")
            self.sorted_by(column, True, "the button turns " + column)
        self.b.call("/element/%s/value" % self.b.find(
            "#table > thead th button")[0], {"text": "\ue007"})
        self.sorted_by("layout", False, "the enter key sorts")
        self.b.click("#reset")
        time.sleep(0.05)

    def more(self):
        self.b.click("#more-some")
        self.claim(len(self.shown()) == 2 * SOME, "50 more rows")
        self.b.click("#more-all")
        got = sorted((r["set"], r["what"], r["name"], r["layout"], r["kind"],
                      r["status"]) for r in self.shown())
        want = sorted((r["set"], r["what"], r["name"], r["layout"], r["kind"],
                       r["status"]) for r in ALL)
        self.claim(got == want, "all rows are those of the CSV files",
                   [x for x in zip(got, want) if x[0] != x[1]][:2])

    def every_row(self):
        """Opens and closes all of them, as quickly as a script can."""
        opened = self.b.run("""
            const all = [...document.querySelectorAll('#table > tbody > tr > th button')];
            all.forEach(b => b.click());
            return [all.length, document.querySelectorAll('tr.detail dl').length,
                    document.querySelectorAll('svg.recorded').length];""")
        self.claim(opened == [len(ALL), len(ALL), len(recorded())],
                   "every row opens, with the timeline where one is recorded",
                   opened)
        self.narrow_enough("with every row open")
        left = self.b.run("""
            document.querySelectorAll('#table > tbody > tr > th button')
                .forEach(b => b.click());
            return document.querySelectorAll('tr.detail').length;""")
        self.claim(left == 0, "every row closes", left)
        self.b.click("#reset")
        time.sleep(0.05)

    def detail(self):
        """The pick of the local experiment, as a reader would open it."""
        self.b.choose("#set", "reference/local")
        button = "#table > tbody tr:first-child th button"
        self.b.click(button)
        told = self.b.run("""const d = document.querySelector('tr.detail');
            return {text: d.textContent,
                    open: document.querySelector(arguments[0]).ariaExpanded,
                    stages: d.querySelectorAll('td tbody > tr').length,
                    boxes: ['recorded', 'predicted'].flatMap(w => ['forward', 'backward']
                        .map(k => d.querySelectorAll(`svg.${w} .${k}`).length)),
                    label: d.querySelector('svg.recorded').ariaLabel,
                    title: d.querySelector('svg.recorded title').textContent};""",
                          button)
        runs = table("reference", "local", "runs.csv")
        n_mb = int(runs[-1]["n_microbatches"])
        stages = [s for s in table("reference", "local", "stages.csv")
                  if s["role"] == "pick"]
        self.claim(told["open"] == "true" and told["stages"] == len(stages),
                   "a row opens to its stages", told)
        self.claim(told["boxes"] == 4 * [n_mb * len(stages)],
                   "its timelines have every operation of the step", told)
        self.claim("rank 3 works" in told["label"] and
                   "micro-batch 0, stage 0" in told["title"],
                   "the timeline says in words what it shows", told)
        pick = table("reference", "local", "layouts.csv")[0]
        shows = "%.1f ms [%.1f, %.1f]" % tuple(
            float(pick["pred_%s_ms" % k]) for k in ("step", "lo", "hi"))
        self.claim(shows in told["text"], "its interval is shown",
                   [shows, told["text"][:300]])
        self.narrow_enough("with a row open")
        self.b.click(button)
        self.claim(not self.b.find("tr.detail"), "and closes")
        axis = self.b.run("return [...document.querySelectorAll('#plot-memory text.soft')]"
                          ".map(e => e.textContent.split(' ')[1])")
        self.claim(axis and set(axis) <= {"MiB", "GiB"},
                   "memory has one unit in plot and table", axis)
        self.b.click("#plot-time .dot:last-of-type")
        self.claim(self.b.run("return document.activeElement.ariaExpanded") ==
                   "true", "a mark of the plot opens its row")
        self.b.click("#reset")
        time.sleep(0.05)

    def rest(self):
        for i in range(len(self.b.find("summary"))):
            self.b.run("document.querySelectorAll('summary')[arguments[0]]"
                       ".setAttribute('data-n', arguments[0])", i)
            self.b.click("summary[data-n='%d']" % i)
        self.narrow_enough("with every table open")
        self.b.call("/element/%s/value" % self.b.find(".skip")[0],
                    {"text": "\ue007"})
        self.claim(self.b.run("return document.activeElement.id") == "table",
                   "the first link leads to the table")
        left = self.b.run(UNUSED)
        self.claim(not left, "no control was forgotten", left)

    def narrow_enough(self, when):
        size = self.b.run(OVERFLOW)
        self.claim(size[0] <= size[1] == self.width,
                   "the page is no wider than the window " + when, size)

    def quiet(self):
        said = self.b.said()
        self.claim(not said, "the console was told nothing", said)
        asked = [u for u in self.b.requested() if not u.startswith("data:")]
        self.claim(asked == [self.url], "nothing but the page was asked for",
                   asked)

    def look_through(self):
        """Every control of a page whose rows are not known here, and some rows;
        a plot is drawn each time."""
        self.b.run("""const some = '#controls button, #controls input, summary, ' +
            '#table thead button, #more-some, #table > tbody > tr:nth-child(-n+5) button';
            for (const c of document.querySelectorAll(some)) c.click();""")
        self.b.choose("#set", "reference/local-vpp")
        self.b.click("#table > tbody button")
        found = self.b.run("return [document.querySelectorAll('svg.gantt rect')"
                           ".length, document.querySelectorAll('.dot').length]")
        self.claim(min(found) > 0, "the whole page has timelines and plots",
                   found)
        self.narrow_enough("of all datasets")
        self.quiet()

    def unharmed(self):
        """test_page.sh put markup into names."""
        found = self.b.run("""return [document.title, typeof window.harmed,
            document.querySelectorAll('img, iframe, script').length,
            [...document.links].map(a => a.protocol)]""")
        self.claim(found[0] == "moe-layout: all results" and
                   found[1] == "undefined" and found[2] == 2 and
                   set(found[3]) == {"file:", "https:"},
                   "names with markup are text", found)


def without_script(browser):
    browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
    browser.open("file://" + os.path.abspath(PAGE), 1280)
    browser.cdp("Emulation.setScriptExecutionDisabled", value=False)
    rows = browser.find("#table > tbody > tr")
    idle = browser.run("return [...document.querySelectorAll('button, input, "
                       "select')].filter(c => c.checkVisibility()).length")
    claim(len(rows) == len(ALL) and idle == 0,
          "without scripts all rows are there, and nothing that does nothing",
          [len(rows), idle])


def main():
    browser = Browser()
    try:
        browser.requested()
        for width in WIDTHS:
            page = Page(browser, width)
            page.narrow_enough("as it opens")
            page.shows(ALL, "all rows at first")
            for part in (page.filters, page.reset, page.sorting, page.more,
                         page.every_row, page.detail, page.rest,
                         page.unharmed, page.quiet):
                part()
            Page(browser, width, WHOLE).look_through()
        without_script(browser)
    finally:
        browser.close()


main()
