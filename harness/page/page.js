/*
 * The page's table, sorted and filtered, its plots, and what a row opens to.
 * Rows are the HTML table's own; details and timelines come from the JSON
 * beside it, by the row's place. All text reaches the page as text nodes.
 */
"use strict";
(() => {
const LEFT = 76; // pixels beside a plot
const SOME = 50; // rows shown at first, and more of
const FIRST = ["layout", "step time", "memory", "plan", "run"]; // of the list
const KINDS = ["measured", "emulated", "published", "assumed"];
const LAYOUT = 0, NAME = 1, WHAT = 2, SET = 3, KIND = 4, STATUS = 5;
const PRED = 6, MEAS = 7, ERROR = 8, PRED_MEM = 9, MEAS_MEM = 10, MEM_ERROR = 11;

const $ = (id) => document.getElementById(id);

/* ---- making elements ---- */

function make(tag, attributes = {}, ...children) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...children);
    return e;
}

function draw(tag, attributes = {}, ...children) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...children);
    return e;
}

function label(x, y, text, anchor = "start", cls = "") {
    return draw("text", {x, y, "text-anchor": anchor, class: cls}, text);
}

/* ---- numbers ---- */

function formatTime(ms) {
    if (!Number.isFinite(ms)) return "–";
    const size = Math.abs(ms);
    if (size < 10) return ms.toFixed(3) + " ms";
    if (size < 1e3) return ms.toFixed(1) + " ms";
    return (ms / 1e3).toFixed(size < 1e5 ? 2 : 1) + " s";
}

function formatBytes(bytes) {
    if (!Number.isFinite(bytes)) return "–";
    const mib = bytes / 2 ** 20;
    return mib < 1024 ? mib.toFixed(1) + " MiB" : (mib / 1024).toFixed(2) + " GiB";
}

function formatPercent(x) {
    return Number.isFinite(x) ? (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2) + "%" : "–";
}

/* ---- rows ---- */

const data = JSON.parse($("data").textContent);
const table = $("table"), body = table.tBodies[0];
const heads = [...table.tHead.rows[0].cells];
const titles = heads.map((h) => h.textContent.trim());

function readCell(cell, numeric) {
    if (!numeric) return cell.textContent.trim();
    return cell.dataset.v === undefined ? NaN : Number(cell.dataset.v);
}

function readRow(tr, place) {
    const values = [...tr.cells].map((c, i) => readCell(c, i >= PRED));
    const row = {tr, place, values, detail: null, valid: tr.dataset.s === "valid",
                 text: values.slice(0, PRED).join("\n").toLowerCase(),
                 layout: values[LAYOUT].toLowerCase()};
    row.button = make("button", {type: "button", "aria-expanded": "false"}, ...tr.cells[LAYOUT].childNodes);
    row.button.addEventListener("click", () => toggle(row));
    tr.cells[LAYOUT].append(row.button);
    tr.cells[MEAS].dataset.kind = values[KIND];
    return row;
}

const rows = [...body.rows].map(readRow);
// widths of the table and of a plot: kept, since asking for one lays out the page
const state = {column: -1, down: false, shown: SOME, width: 0, plot: 0};

/* ---- filter and sort ---- */

function passes(row, want) {
    const v = row.values;
    return (!want.set || v[SET] === want.set) &&
        (!want.what || v[WHAT] === want.what) &&
        (!want.status || row.valid === (want.status === "valid")) &&
        want.kinds.includes(v[KIND]) && row.layout.includes(want.layout) &&
        want.words.every((w) => row.text.includes(w));
}

function readControls() {
    return {
        set: $("set").value, what: $("what").value, status: $("status").value,
        kinds: [...document.querySelectorAll("[name=kind]:checked")].map((k) => k.value),
        layout: $("layout").value.trim().toLowerCase(),
        words: $("text").value.toLowerCase().split(/\s+/).filter(Boolean),
    };
}

/* What is not known comes last in both directions; equal rows stay in order. */
function compare(x, y) {
    if (state.column < 0)
        return FIRST.indexOf(x.values[WHAT]) - FIRST.indexOf(y.values[WHAT]) || x.place - y.place;
    const a = x.values[state.column], b = y.values[state.column];
    const lackA = a === "" || Number.isNaN(a), lackB = b === "" || Number.isNaN(b);
    if (lackA || lackB) return lackA - lackB || x.place - y.place;
    const order = typeof a === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0;
    return (state.down ? -order : order) || x.place - y.place;
}

/* ---- showing ---- */

function describe(found) {
    const shown = Math.min(state.shown, found.length);
    const errors = found.filter((r) => r.valid && r.values[WHAT] !== "run")
        .map((r) => Math.abs(r.values[ERROR])).filter(Number.isFinite);
    const mean = errors.reduce((a, b) => a + b, 0) / errors.length;
    const dropped = found.filter((r) => !r.valid).length;
    let text = `${found.length} of ${rows.length} rows, ${shown} shown`;
    if (dropped) text += `; ${dropped} dropped, with the reason`;
    if (errors.length)
        text += `; step error of the ${errors.length} that have both figures: ` +
            `mean ${mean.toFixed(2)}%, worst ${Math.max(...errors).toFixed(2)}%`;
    if (state.column >= 0)
        text += `; sorted by ${titles[state.column].toLowerCase()}, ` +
            (state.down ? "descending" : "ascending");
    return text + ".";
}

function render() {
    const want = readControls();
    const found = rows.filter((r) => passes(r, want)).sort(compare);
    const shown = found.slice(0, state.shown);
    body.replaceChildren(...shown.flatMap((r) => (r.detail ? [r.tr, r.detail] : [r.tr])));
    $("count").textContent = describe(found);
    $("more").hidden = found.length <= state.shown;
    heads.forEach((h, i) => {
        const sorted = state.down ? "descending" : "ascending";
        h.setAttribute("aria-sort", i === state.column ? sorted : "none");
    });
    $("order").value = state.column < 0 ? "" : String(state.column);
    plotAll(found);
}

function refilter() {
    state.shown = SOME;
    render();
}

function sortBy(column, down) {
    Object.assign(state, {column, down, shown: SOME});
    render();
}

/* ---- plots: predicted against measured ---- */

/* Powers of ten over a wide range, else about four round values. */
function ticks(lo, hi) {
    const all = [];
    if (hi / lo >= 30) {
        for (let p = Math.ceil(Math.log10(lo)); 10 ** p <= hi; p++) all.push(10 ** p);
        return all;
    }
    const step = roundStep((hi - lo) / 4);
    for (let t = Math.ceil(lo / step); t * step <= hi; t++) all.push(t * step);
    return all;
}

/* The least of 1, 2 and 5 times a power of ten that is no less. */
function roundStep(x) {
    const p = 10 ** Math.floor(Math.log10(x));
    return [1, 2, 5, 10].map((f) => f * p).find((s) => s >= x * 0.999);
}

function dot(kind, x, y) {
    const r = 4;
    const shapes = {
        measured: () => draw("circle", {cx: x, cy: y, r}),
        emulated: () => draw("rect", {x: x - r, y: y - r, width: 2 * r, height: 2 * r}),
        published: () => draw("path", {d: `M${x} ${y - r}l${r} ${2 * r}h${-2 * r}z`}),
        assumed: () => draw("path", {d: `M${x} ${y - r - 1}l${r} ${r + 1}l${-r} ${r + 1}l${-r} ${-r - 1}z`}),
    };
    return shapes[KINDS.includes(kind) ? kind : "assumed"]();
}

function tickText(value, unit) {
    return round(value / unit.base) + " " + unit.name;
}

function plotFrame(width, height, scale) {
    const g = draw("g");
    for (const t of scale.ticks) {
        const x = scale.x(t), y = scale.y(t);
        g.append(draw("path", {class: "grid", d: `M${x} 8V${height - 38}M${LEFT} ${y}H${width - 8}`}),
            label(x, height - 22, tickText(t, scale.unit), "middle", "soft"), label(LEFT - 4, y + 4, tickText(t, scale.unit), "end", "soft"));
    }
    g.append(draw("path", {class: "axis", d: `M${LEFT} 8V${height - 38}H${width - 8}`}),
        draw("line", {class: "equal", x1: scale.x(scale.lo), y1: scale.y(scale.lo),
                      x2: scale.x(scale.hi), y2: scale.y(scale.hi)}),
        label((LEFT + width) / 2, height - 5, "measured", "middle"),
        draw("text", {transform: `translate(11 ${height / 2 - 15}) rotate(-90)`, "text-anchor": "middle"}, "predicted"));
    return g;
}

/* Ticks are round in the unit that the figures are written in. */
function plotScale(values, width, height, unit) {
    const lo = Math.min(...values) / 1.15, hi = Math.max(...values) * 1.15, axis = unit(hi);
    const at = (v) => Math.log(v / lo) / Math.log(hi / lo);
    return {lo, hi, unit: axis, ticks: ticks(lo / axis.base, hi / axis.base).map((t) => t * axis.base),
            x: (v) => LEFT + at(v) * (width - LEFT - 8),
            y: (v) => height - 38 - at(v) * (height - 46)};
}

/* Rows with both figures; runs only where they are alone, since a layout's row
 * is what its runs say together. */
function plotRows(found, of) {
    const both = found.filter((r) => r.values[of.pred] > 0 && r.values[of.meas] > 0);
    const others = both.filter((r) => r.values[WHAT] !== "run");
    return others.length ? others : both;
}

function plot(name, found, of, unit) {
    const points = plotRows(found, of);
    const box = $("plot-" + name), title = $("plot-" + name + "-title");
    title.textContent = `${of.title}: ${points.length} rows with both figures, on the line where equal`;
    if (!points.length) {
        box.replaceChildren(make("p", {}, make("small", {}, "none of these rows has both")));
        return;
    }
    const width = Math.max(280, state.plot), height = Math.min(320, Math.round(width * 0.62));
    const scale = plotScale(points.flatMap((r) => [r.values[of.pred], r.values[of.meas]]), width, height, unit);
    const svg = draw("svg", {width, height, role: "img", "aria-label": title.textContent + "; the table below has the figures"},
        plotFrame(width, height, scale));
    for (const r of points) {
        const mark = dot(r.values[KIND], scale.x(r.values[of.meas]), scale.y(r.values[of.pred]));
        mark.setAttribute("class", "dot k-" + (KINDS.includes(r.values[KIND]) ? r.values[KIND] : "assumed"));
        mark.append(draw("title", {}, `${r.values[LAYOUT]} (${r.values[NAME]}, ${r.values[SET]}, ${r.values[KIND]}): ` +
            `predicted ${of.format(r.values[of.pred])}, measured ${of.format(r.values[of.meas])}`));
        mark.addEventListener("click", () => reveal(r, found));
        svg.append(mark);
    }
    box.replaceChildren(svg);
}

/* A mark's row, wherever it is among those found. */
function reveal(row, found) {
    state.shown = Math.max(state.shown, found.indexOf(row) + 1);
    if (!row.detail) toggle(row);
    render();
    row.button.focus();
    row.tr.scrollIntoView({block: "center"});
}

const round = (x) => Number(x.toPrecision(3));

function plotAll(found) {
    plot("time", found, {title: "Step time", pred: PRED, meas: MEAS, format: formatTime},
        (ms) => (ms < 1000 ? {base: 1, name: "ms"} : {base: 1000, name: "s"}));
    plot("memory", found, {title: "Peak memory", pred: PRED_MEM, meas: MEAS_MEM, format: formatBytes},
        (b) => (b < 2 ** 30 ? {base: 2 ** 20, name: "MiB"} : {base: 2 ** 30, name: "GiB"}));
}

/* ---- what a row opens to ---- */

function part(title, ...children) {
    return make("div", {}, make("h3", {}, title), ...children);
}

function list(pairs) {
    return make("dl", {}, ...pairs.flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, v)]));
}

/* The cells of the row in words, those too that a narrow screen leaves out. */
function rowFacts(row, detail) {
    const v = row.values, kind = v[KIND];
    const cells = [["dataset", v[SET]], [v[WHAT] === "memory" ? "platform" : "role or run", v[NAME]],
                   ["kind", kind], ["status", v[STATUS]]];
    const figures = [
        [PRED, "predicted step", formatTime], [MEAS, `${kind} step`, formatTime], [ERROR, "step error", formatPercent],
        [PRED_MEM, "predicted memory", formatBytes], [MEAS_MEM, `${kind} memory`, formatBytes],
        [MEM_ERROR, "memory error", formatPercent]];
    for (const [i, name, format] of figures)
        if (Number.isFinite(v[i])) cells.push([name, format(v[i])]);
    return part("Row", list(cells.concat(detail.facts || [])));
}

/* "32.17 s [32.16, 32.18]" */
function formatInterval(i) {
    const unit = i.step < 1e3 ? [1, "ms"] : [1e3, "s"];
    const digits = (x) => (x / unit[0]).toFixed(unit[0] === 1 ? 1 : 3);
    const ends = Number.isFinite(i.lo) && Number.isFinite(i.hi) ? ` [${digits(i.lo)}, ${digits(i.hi)}]` : "";
    return `${digits(i.step)} ${unit[1]}${ends}`;
}

/* On one axis of at least some percent: less is no difference to look at. */
function intervals(row, detail, width) {
    const lines = [["predicted", detail.pred], [row.values[KIND], detail.meas]]
        .filter(([, x]) => x && Number.isFinite(x.step));
    const ends = lines.flatMap(([, x]) => [x.step, x.lo, x.hi]).filter(Number.isFinite);
    if (!ends.length) return null;
    const lo = Math.min(...ends), hi = Math.max(...ends);
    const middle = (lo + hi) / 2, half = Math.max((hi - lo) * 0.55, middle * 0.03);
    const x = (v) => 84 + (v - middle + half) / (2 * half) * (width - 92);
    const svg = draw("svg", {width, height: 44 * lines.length + 22, role: "img",
        "aria-label": lines.map(([name, i]) => `${name} ${formatInterval(i)}`).join("; ")});
    lines.forEach(([name, i], k) => {
        const y = 44 * k + 28;
        svg.append(label(0, y + 4, name));
        if (Number.isFinite(i.lo) && Number.isFinite(i.hi))
            svg.append(draw("path", {class: "predicted", d: `M${x(i.lo)} ${y - 6}v12m0 -6H${x(i.hi)}m0 -6v12`}));
        const at = x(i.step), anchor = at > width - 90 ? "end" : at < 180 ? "start" : "middle";
        svg.append(draw("circle", {cx: at, cy: y, r: 4, class: "k-" + name, fill: "var(--ink)"}),
            label(at, y - 11, formatInterval(i), anchor, "soft"));
    });
    const step = roundStep(2 * half / Math.max(2, width / 160)), bottom = 44 * lines.length + 16;
    svg.append(draw("path", {class: "axis", d: `M84 ${bottom - 14}H${width - 8}`}));
    for (let t = Math.ceil((middle - half) / step) * step; t <= middle + half; t += step)
        svg.append(draw("path", {class: "axis", d: `M${x(t)} ${bottom - 17}v6`}),
            label(x(t), bottom, formatTime(t), x(t) > width - 40 ? "end" : "middle", "soft"));
    return part("Step time with 95% intervals", svg);
}

/* Bars of measured work a micro-batch, or predicted where there is none; the
 * predicted sum as a line. */
function stageBars(stages, width) {
    const sum = (s, who) => (s[who + "_fwd_ms"] ?? 0) + (s[who + "_bwd_ms"] ?? 0);
    const most = Math.max(...stages.map((s) => Math.max(sum(s, "pred"), sum(s, "meas"))));
    if (!(most > 0)) return null;
    const left = 96, room = width - left - 80, x = (ms) => ms / most * room;
    const svg = draw("svg", {width, height: 24 * stages.length + 4, role: "img",
        "aria-label": "Work of each stage: the table below has the figures"});
    stages.forEach((s, i) => {
        const who = sum(s, "meas") > 0 ? "meas" : "pred", y = 24 * i + 4;
        const fwd = x(s[who + "_fwd_ms"] ?? 0), bwd = x(s[who + "_bwd_ms"] ?? 0);
        const units = s.units.length > 11 ? s.units.slice(0, 10) + "…" : s.units;
        svg.append(label(0, y + 13, `${i} ${units}`),
            draw("rect", {class: "forward op", x: left, y, width: fwd, height: 18}),
            draw("rect", {class: "backward op", x: left + fwd, y, width: bwd, height: 18}),
            label(left + Math.max(fwd + bwd, x(sum(s, "pred"))) + 6, y + 13, formatTime(sum(s, who)), "start", "soft"));
        if (sum(s, "pred") > 0)
            svg.append(draw("path", {class: "predicted", d: `M${left + x(sum(s, "pred"))} ${y - 2}v22`}));
    });
    return svg;
}

function stageTable(stages, kind) {
    const columns = [["forward, predicted", "pred_fwd_ms", formatTime], [`forward, ${kind}`, "meas_fwd_ms", formatTime],
                     ["backward, predicted", "pred_bwd_ms", formatTime], [`backward, ${kind}`, "meas_bwd_ms", formatTime],
                     ["memory, predicted", "pred_mem_bytes", formatBytes], [`memory, ${kind}`, "meas_mem_bytes", formatBytes],
                     ["in flight", "in_flight", String]];
    const head = make("tr", {}, ...["stage", "units"].map((t) => make("th", {scope: "col"}, t)),
        ...columns.map(([t]) => make("th", {scope: "col", class: "n"}, t)));
    const lines = stages.map((s, i) => make("tr", {}, make("th", {scope: "row"}, String(i)), make("td", {}, s.units),
        ...columns.map(([, key, format]) => make("td", {class: "n"}, s[key] === undefined ? "–" : format(s[key])))));
    return make("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Stages"},
        make("table", {}, make("thead", {}, head), make("tbody", {}, ...lines)));
}

function legend() {
    return make("p", {}, make("span", {class: "key forward"}), "forward", make("span", {class: "key backward"}), "backward");
}

function stagePart(row, detail, width) {
    if (!detail.stages || !detail.stages.length) return null;
    const bars = stageBars(detail.stages, width);
    const which = detail.stages.some((s) => s.meas_fwd_ms > 0) ? row.values[KIND] : "predicted";
    const box = part("Stages", ...(bars ? [make("p", {}, `Work of a micro-batch, ${which}; the line is the prediction.`), bars, legend()] : []),
        stageTable(detail.stages, row.values[KIND]));
    box.className = "all";
    return box;
}

/* ---- the timeline of a step ---- */

/* Operations from the JSON's arrays: start and duration, in microseconds. */
function operations(t) {
    const all = [];
    for (const kind of ["forward", "backward"]) {
        const times = kind === "forward" ? t.fwd : t.bwd;
        for (let i = 0; i < times.length / 2; i++) {
            if (times[2 * i] === null) continue;
            const stage = Math.floor(i / t.n_mb);
            all.push({kind, stage, mb: i % t.n_mb, rank: stage % t.pp, chunk: Math.floor(stage / t.pp),
                      start: times[2 * i], took: times[2 * i + 1]});
        }
    }
    return all;
}

function lastEnd(ops) {
    return Math.max(...ops.map((o) => o.start + o.took));
}

/* `span` is the axis, which timelines that stand together share. */
function gantt(t, what, width, span) {
    const ops = operations(t), chunks = Math.max(...ops.map((o) => o.chunk)) + 1, end = lastEnd(ops);
    const left = 88, height = 26 * t.pp + 30, x = (us) => left + us / span * (width - left - 12);
    const busy = [...Array(t.pp).keys()].map((r) =>
        100 * ops.filter((o) => o.rank === r).reduce((sum, o) => sum + o.took, 0) / end);
    const svg = draw("svg", {width, height, role: "img", class: "gantt " + what,
        "aria-label": `Timeline of one ${what} step of ${formatTime(end / 1e3)}: ` +
            busy.map((b, r) => `rank ${r} works ${b.toFixed(0)}% of it`).join(", ")});
    const step = roundStep(span * 100 / (width - left));
    for (let us = 0; us <= span; us += step)
        svg.append(draw("path", {class: "grid", d: `M${x(us)} 0V${26 * t.pp + 6}`}),
            label(x(us), height - 8, formatAxis(us), us + step > span ? "end" : "middle", "soft"));
    busy.forEach((b, r) => svg.append(label(0, 26 * r + 18, `rank ${r}`), label(left - 6, 26 * r + 18, b.toFixed(0) + "%", "end", "soft")));
    for (const o of ops) {
        const w = Math.max(0.5, x(o.start + o.took) - x(o.start)), y = 26 * o.rank + 4;
        const name = chunks > 1 ? `${o.mb}${String.fromCharCode(65 + o.chunk)}` : String(o.mb);
        svg.append(draw("rect", {class: o.kind + " op", x: x(o.start), y, width: w, height: 20,
            "fill-opacity": 1 - 0.5 * o.chunk / chunks},
            draw("title", {}, `${o.kind}, micro-batch ${o.mb}, stage ${o.stage}: ${formatTime(o.start / 1e3)} to ${formatTime((o.start + o.took) / 1e3)}`)));
        if (w > 8 * name.length + 2) svg.append(label(x(o.start) + w / 2, y + 14, name, "middle", "op-text"));
    }
    return svg;
}

function formatAxis(us) {
    return us >= 1e6 ? round(us / 1e6) + " s" : round(us / 1e3) + " ms";
}

/* The recorded step, and below it the simulated one, on one axis. */
function timelinePart(row, detail, width) {
    const two = [["recorded", data.timelines[detail.timeline]], ["predicted", data.timelines[detail.predicted]]]
        .filter(([, t]) => t);
    if (!two.length) return null;
    const span = Math.max(...two.map(([, t]) => lastEnd(operations(t))));
    const box = part("Timeline of one step");
    for (const [what, t] of two) {
        // boxes of less than some pixels could not be told apart: then it scrolls
        const wide = Math.max(width, Math.min(4000, 88 + 10 * t.fwd.length / t.pp));
        const says = what === "recorded" ? `Recorded: step ${t.iteration}, ${row.values[KIND]}.`
            : "Predicted: simulated with mean costs, without jitter and what lies outside the pipeline.";
        box.append(make("p", {}, says),
            make("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Timeline, " + what}, gantt(t, what, wide, span)));
    }
    const letters = two.some(([, t]) => t.fwd.length / 2 / t.n_mb > t.pp) ? "letters are chunks; " : "";
    const key = legend();
    key.append(make("small", {}, ` numbers are micro-batches; ${letters}beside each rank, the share of the step that it works`));
    box.append(key);
    box.className = "all";
    return box;
}

function fillDetail(row) {
    const detail = data.details[row.place];
    const cell = row.detail.cells[0], width = Math.max(240, state.width - 24);
    const split = width > 700 ? Math.floor((width - 24) / 3 * 2) : width;
    const parts = [rowFacts(row, detail), intervals(row, detail, split),
                   timelinePart(row, detail, width), stagePart(row, detail, width)];
    // with nothing beside it the list takes the whole width
    if (!parts[1]) parts[0].className = "all two";
    cell.replaceChildren(make("div", {class: "parts"}, ...parts.filter(Boolean)));
}

function toggle(row) {
    if (row.detail) {
        row.detail.remove();
        row.detail = null;
    } else {
        row.detail = make("tr", {class: "detail"}, make("td", {colspan: String(titles.length)}));
        if (row.tr.parentNode) row.tr.after(row.detail);
        else body.append(row.detail);
        fillDetail(row);
    }
    row.button.setAttribute("aria-expanded", String(Boolean(row.detail)));
}

/* ---- controls ---- */

function options(select, names) {
    for (const name of names) select.append(make("option", {value: name}, name));
}

function listen() {
    for (const id of ["text", "layout"]) $(id).addEventListener("input", refilter);
    for (const id of ["set", "what", "status"]) $(id).addEventListener("change", refilter);
    for (const k of document.querySelectorAll("[name=kind]")) k.addEventListener("change", refilter);
    $("controls").addEventListener("submit", (e) => e.preventDefault());
    // the form's fields are reset after this event
    $("controls").addEventListener("reset", () => setTimeout(() => sortBy(-1, false)));
    $("order").addEventListener("change", () => sortBy($("order").value === "" ? -1 : Number($("order").value), false));
    $("turn").addEventListener("click", () => sortBy(state.column, !state.down));
    $("more-some").addEventListener("click", () => { state.shown += SOME; render(); });
    $("more-all").addEventListener("click", () => { state.shown = Infinity; render(); });
}

function measure() {
    state.width = table.clientWidth;
    state.plot = $("plot-time").clientWidth;
}

/* What is drawn to a width is drawn again when that changes. */
function watchWidth() {
    let width = document.body.clientWidth, timer = 0;
    window.addEventListener("resize", () => {
        clearTimeout(timer);
        timer = setTimeout(() => {
            if (width === document.body.clientWidth) return;
            width = document.body.clientWidth;
            measure();
            render();
            rows.filter((r) => r.detail && r.detail.isConnected).forEach(fillDetail);
        }, 100);
    });
}

function start() {
    options($("set"), [...new Set(rows.map((r) => r.values[SET]))]);
    options($("what"), [...new Set(rows.map((r) => r.values[WHAT]))]);
    heads.forEach((h, i) => {
        const button = make("button", {type: "button"}, titles[i]);
        button.addEventListener("click", () => sortBy(i, state.column === i && !state.down));
        h.replaceChildren(button);
        $("order").append(make("option", {value: String(i)}, titles[i]));
    });
    for (const id of ["controls", "plots"]) $(id).hidden = false;
    measure();
    listen();
    watchWidth();
    render();
}
start();
})();
