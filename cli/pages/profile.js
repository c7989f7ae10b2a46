// The page of hone profile: numbers, findings, tables, timeline, roofline, memory.

const nodes = data.by_node, outer = nodes.filter((n) => !n.is_inner);
const runUs = data.median_run_us;

// One colour per operator, the slowest ones first; the rest share the last.
const opColours = new Map(data.by_operator.map((o, i) => [o.name, "--c" + Math.min(i, 8)]));
const opColour = (op) => colour(opColours.get(op) || "--c8");

function shapeText(list) {
  return list.map((t) => Object.entries(t).map(([type, dims]) => type + "[" + dims.join(",") + "]")[0] || "?").join(", ");
}
function nodeTip(n) {
  return [
    el("b", {}, n.name), el("div", {class: "soft"}, n.op + (n.kernel ? " \u00b7 " + n.kernel : "")),
    el("div", {}, format.time(n.mean_us) + " mean, " + format.percent(n.share) + " of the nodes"),
    n.macs ? el("div", {}, n.gflops.toFixed(1) + " GFLOP/s, " + n.gbytes.toFixed(1) + " GB/s") : null,
    n.bound ? el("div", {}, "bound by " + n.bound + ", " + format.time(n.above_floor_us) + " above the floor") : null,
    el("div", {class: "faint"}, shapeText(n.inputs) + " \u2192 " + shapeText(n.outputs)),
    n.nodes.length > 1 ? el("div", {class: "faint"}, "computes " + n.nodes.join(", ")) : null,
  ];
}

// ---- head and numbers ----

function showHead() {
  fill(byId("top"), el("div", {class: "bar"}, el("h1", {}, "Profile of " + data.model.split("/").pop()),
    el("span", {class: "chip"}, data.writer), el("span", {class: "chip"}, format.count(data.runs) + (data.runs === 1 ? " run" : " runs")),
    el("button", {onclick: () => theme.toggle(), "aria-label": "switch between light and dark"}, "\u25d0")));
}
function tile(value, label, tip) {
  return el("div", {class: "card tile", "data-tip": tip || null, tabindex: tip ? 0 : null}, el("b", {}, value), el("span", {class: "soft"}, label));
}
function tiles() {
  const macs = outer.reduce((a, n) => a + n.macs, 0), phase = (name) => data.phases.find((p) => p.name === name);
  const list = [tile(format.time(runUs), "a run, median"), tile(format.percent(data.nodes_share), "of it in nodes")];
  if (macs) list.push(tile((2e-3 * macs / runUs).toFixed(1), "GFLOP/s of the run"));
  if (data.peaks.flops) {
    const floor = outer.reduce((a, n) => a + n.floor_us, 0);
    list.push(tile((data.nodes_us / floor).toFixed(1) + " \u00d7", "the floor of this machine",
      data.peaks.cpu + ", " + data.peaks.threads + " threads: " + (data.peaks.flops * 1e-9).toFixed(0) + " GFLOP/s, " +
      (data.peaks.read_bytes_per_second * 1e-9).toFixed(1) + " GB/s"));
  }
  if (data.memory.peak_bytes) list.push(tile(format.bytes(data.memory.peak_bytes), "peak of intermediate values"));
  for (const [name, label] of [["session_initialization", "to optimize"], ["plan_and_pack", "to plan and pack"]])
    if (phase(name)) list.push(tile(format.time(phase(name).us), label));
  return el("section", {class: "tiles", "aria-label": "numbers"}, list);
}

// ---- findings ----

function findings() {
  const list = data.findings.map((f) => el("div", {class: "finding", "data-kind": f.kind},
    el("p", {}, el("b", {}, f.title), f.us > 0 ? [" ", el("span", {class: "chip warn"}, "up to " + format.time(f.us) + ", " + format.percent(f.us / runUs))] : null),
    el("p", {class: "soft wrap"}, f.evidence), f.command ? el("code", {}, f.command) : null));
  return el("section", {class: "card", id: "findings"}, el("h2", {}, "Findings"), list.length ? list : el("p", {class: "soft"}, "None."));
}

// ---- tables ----

const tables = {operator: data.by_operator, kernel: data.by_kernel, node: outer.slice().sort((a, b) => b.us - a.us)};
let tableKind = "operator", tableText = "", tableRows = 20;

function tableBody() {
  const rows = tables[tableKind].filter((r) => (r.name + " " + (r.op || "") + " " + (r.nodes && r.nodes.join ? r.nodes.join(" ") : "")).toLowerCase().includes(tableText));
  let sum = 0;
  const peak = (r) => r.bound === "memory" ? r.gbytes * 1e9 / data.peaks.read_bytes_per_second : r.gflops * 1e9 / (r.is_integer ? data.peaks.int8_ops : data.peaks.flops);
  const shown = rows.slice(0, tableRows).map((r) => {
    sum += r.share;
    const name = tableKind === "node" && r.nodes.length > 1 ? [r.name, el("span", {class: "faint"}, " (" + r.nodes.length + " nodes)")] : r.name;
    return el("tr", {"data-tip": tableKind === "node" && r.nodes.length > 1 ? r.nodes.join(", ") : null},
      el("td", {class: "name"}, el("span", {style: "color:" + opColour(tableKind === "node" ? r.op : r.name)}, tableKind === "kernel" ? "" : "\u25a0 "), name),
      tableKind === "node" ? el("td", {class: "soft"}, r.op) : el("td", {class: "num"}, format.short(Math.round(r.nodes))),
      el("td", {class: "num"}, format.time(r.us)), el("td", {class: "num"}, format.time(r.mean_us)),
      el("td", {class: "share num"}, el("i", {style: "width:" + (100 * r.share).toFixed(1) + "%"}), el("span", {}, format.percent(r.share))),
      el("td", {class: "num soft"}, format.percent(sum)),
      el("td", {class: "num"}, r.macs ? r.gflops.toFixed(1) : ""), el("td", {class: "num"}, r.bytes ? r.gbytes.toFixed(1) : ""),
      el("td", {class: "num"}, r.bound && isFinite(peak(r)) ? format.percent(peak(r)) : ""), el("td", {class: "soft"}, r.bound || ""),
      el("td", {class: "num"}, r.floor_us > 0 ? format.time(r.above_floor_us) : ""));
  });
  return [shown, rows.length > tableRows ? el("tr", {}, el("td", {colspan: 11},
    el("button", {onclick: () => { tableRows += 200; showTable(); }}, "show more of " + format.count(rows.length)))) : null];
}
function showTable() {
  const heads = [tableKind, tableKind === "node" ? "operator" : "nodes", "per run", "mean", "share", "so far", "GFLOP/s", "GB/s", "of peak", "bound by", "above floor"];
  fill(byId("table"), el("thead", {}, el("tr", {}, heads.map((h, i) => el("th", {class: i > 1 && i !== 9 || i === 1 && tableKind !== "node" ? "num" : null}, h)))),
    el("tbody", {}, tableBody()));
  for (const b of document.querySelectorAll("[data-table]")) b.setAttribute("aria-pressed", b.dataset.table === tableKind);
}
function tableCard() {
  return el("section", {class: "card"}, el("div", {class: "head"}, el("h2", {}, "Where the time goes"),
    Object.keys(tables).map((k) => el("button", {"data-table": k, onclick: () => { tableKind = k; tableRows = 20; showTable(); }}, "by " + k)),
    el("input", {type: "search", id: "filter", placeholder: "filter", "aria-label": "filter rows", oninput: (e) => { tableText = e.target.value.toLowerCase(); showTable(); }})),
    el("div", {class: "scroll"}, el("table", {id: "table"})));
}

// ---- timeline: a canvas, because models have thousands of steps ----

const line = {begin: 0, end: 1, height: 26, all: 1};
function timelineCard() {
  const events = data.timeline;
  line.all = events.length ? Math.max(...events.map((e) => e[1] + e[2])) : 1;
  line.end = line.all;
  line.threads = Math.max(1, ...events.map((e) => e.length - 2));
  const canvas = el("canvas", {id: "timeline", tabindex: 0, role: "img",
    "aria-label": "timeline of the last run; arrow keys move, plus and minus zoom, 0 shows all"});
  line.canvas = canvas;
  canvas.style.height = line.threads * line.height + 22 + "px";
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); zoomAt(e.deltaY < 0 ? 0.8 : 1.25, e.offsetX / canvas.clientWidth); }, {passive: false});
  canvas.addEventListener("pointerdown", (e) => { line.drag = e.clientX; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointerup", () => { line.drag = null; });
  canvas.addEventListener("pointermove", (e) => line.drag != null ? dragTo(e) : hoverAt(e));
  canvas.addEventListener("pointerleave", () => tip.hide());
  canvas.addEventListener("keydown", (e) => {
    const keys = {ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoomAt(0.7, 0.5), "-": () => zoomAt(1.4, 0.5), "0": () => setRange(0, line.all)};
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
  const ops = data.by_operator.slice(0, 8).map((o) => el("span", {}, el("i", {style: "background:var(" + opColours.get(o.name) + ")"}), o.name));
  return el("section", {class: "card"}, el("div", {class: "head"}, el("h2", {}, "Timeline of the last run"),
    el("button", {"data-zoom": "in", onclick: () => zoomAt(0.6, 0.5), "aria-label": "zoom in"}, "+"),
    el("button", {"data-zoom": "out", onclick: () => zoomAt(1.7, 0.5), "aria-label": "zoom out"}, "\u2212"),
    el("button", {"data-zoom": "all", onclick: () => setRange(0, line.all)}, "all")), canvas, el("div", {class: "legend"}, ops));
}
function setRange(begin, end) {
  const size = Math.min(Math.max(end - begin, line.all * 1e-5), line.all);
  line.begin = Math.min(Math.max(0, begin), line.all - size);
  line.end = line.begin + size;
  drawTimeline();
}
function zoomAt(factor, at) {
  const size = line.end - line.begin, middle = line.begin + size * at;
  setRange(middle - size * factor * at, middle + size * factor * (1 - at));
}
function pan(share) { const d = (line.end - line.begin) * share; setRange(line.begin + d, line.end + d); }
function dragTo(e) {
  const d = (line.drag - e.clientX) / line.canvas.clientWidth * (line.end - line.begin);
  line.drag = e.clientX;
  setRange(line.begin + d, line.end + d);
}
function hoverAt(e) {
  const t = line.begin + e.offsetX / line.canvas.clientWidth * (line.end - line.begin), row = Math.floor(e.offsetY / line.height);
  const slack = (line.end - line.begin) / line.canvas.clientWidth;
  const found = data.timeline.find((v) => v[1] - slack <= t && t <= v[1] + (row ? v[2 + row] || 0 : v[2]) + slack);
  if (!found || row >= line.threads) return tip.hide();
  tip.show(e.clientX, e.clientY, el("div", {class: "soft"}, "at " + format.time(found[1]) + " for " + format.time(found[2])), nodeTip(nodes[found[0]]));
}
function drawTimeline() {
  const c = line.canvas, ratio = devicePixelRatio || 1, w = c.clientWidth, h = c.clientHeight;
  c.width = w * ratio; c.height = h * ratio;
  const g = c.getContext("2d"), scale = w / (line.end - line.begin), ink = colour("--text-soft"), colours = new Map();
  g.scale(ratio, ratio);
  g.font = "11px system-ui, sans-serif";
  for (const v of data.timeline) {
    if (v[1] + v[2] < line.begin || v[1] > line.end) continue;
    const op = nodes[v[0]].op;
    if (!colours.has(op)) colours.set(op, opColour(op));
    for (let row = 0; row < line.threads; row++) {
      const us = row ? v[2 + row] || 0 : v[2], x = (v[1] - line.begin) * scale, width = Math.max(us * scale - 0.5, 0.5);
      if (!us) continue;
      g.globalAlpha = row ? 0.6 : 1;
      g.fillStyle = colours.get(op);
      g.fillRect(x, row * line.height + 2, width, line.height - 4);
      g.globalAlpha = 1;
      if (width > 60 && row === 0) {
        g.save(); g.beginPath(); g.rect(x, 0, width - 4, line.height); g.clip();
        g.fillStyle = inkOn(colours.get(op)); g.fillText(nodes[v[0]].name.split("/").slice(-2).join("/"), Math.max(x, 0) + 5, 17); g.restore();
      }
    }
  }
  g.fillStyle = ink;
  const y = line.threads * line.height + 15;
  g.fillText(format.time(line.begin), 4, y);
  g.textAlign = "center"; g.fillText(format.time((line.begin + line.end) / 2), w / 2, y);
  g.textAlign = "right"; g.fillText(format.time(line.end), w - 4, y);
  c.dataset.range = line.begin.toFixed(3) + " " + line.end.toFixed(3);
}

// ---- plots ----

const W = 560, H = 300, LEFT = 54, RIGHT = 12, TOP = 12, BOTTOM = 34;
const decades = (low, high) => { const list = []; for (let d = Math.floor(low); d <= Math.ceil(high); d++) list.push(d); return list; };

function rooflineCard() {
  const peaks = data.peaks, points = outer.filter((n) => n.macs && n.bytes && n.us);
  if (!peaks.flops || !points.length) return null;
  const gflops = peaks.flops * 1e-9, gbytes = peaks.read_bytes_per_second * 1e-9;
  const xs = points.map((n) => Math.log10(2 * n.macs / n.bytes)).concat(Math.log10(gflops / gbytes));
  const ys = points.map((n) => Math.log10(Math.max(n.gflops, 1e-3))).concat(Math.log10(gflops));
  const x0 = Math.min(...xs) - 0.3, x1 = Math.max(...xs) + 0.4, y0 = Math.min(...ys) - 0.2, y1 = Math.max(...ys) + 0.2;
  const px = (v) => LEFT + (v - x0) / (x1 - x0) * (W - LEFT - RIGHT), py = (v) => H - BOTTOM - (v - y0) / (y1 - y0) * (H - TOP - BOTTOM);
  const knee = Math.log10(gflops / gbytes), leftEnd = Math.max(x0, y0 - Math.log10(gbytes));
  const grid = [decades(x0, x1).filter((d) => d >= x0 && d <= x1).map((d) => [el("line", {class: "grid", x1: px(d), x2: px(d), y1: TOP, y2: H - BOTTOM}),
    el("text", {x: px(d), y: H - BOTTOM + 14, "text-anchor": "middle"}, String(10 ** d))]),
  decades(y0, y1).filter((d) => d >= y0 && d <= y1).map((d) => [el("line", {class: "grid", x1: LEFT, x2: W - RIGHT, y1: py(d), y2: py(d)}),
    el("text", {x: LEFT - 6, y: py(d) + 4, "text-anchor": "end"}, String(10 ** d))])];
  const roof = el("path", {class: "roof", d: "M" + px(leftEnd) + " " + py(leftEnd + Math.log10(gbytes)) + "L" + px(knee) + " " + py(Math.log10(gflops)) + "L" + px(x1) + " " + py(Math.log10(gflops))});
  const most = Math.max(...points.map((n) => n.share));
  const dots = points.map((n) => el("circle", {class: n.bound, cx: px(Math.log10(2 * n.macs / n.bytes)), cy: py(Math.log10(Math.max(n.gflops, 1e-3))),
    r: 3 + 9 * Math.sqrt(n.share / most), tabindex: 0, "aria-label": n.name + ", " + n.gflops.toFixed(1) + " GFLOP/s",
    onpointermove: (e) => tip.show(e.clientX, e.clientY, nodeTip(n)), onpointerleave: () => tip.hide(),
    onfocus: (e) => { const r = e.target.getBoundingClientRect(); tip.show(r.right, r.top, nodeTip(n)); }, onblur: () => tip.hide()}));
  return el("section", {class: "card", id: "roofline"}, el("h2", {}, "Roofline"),
    el("svg", {class: "plot", viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": "arithmetic intensity against GFLOP/s, with the peaks of this machine"}, grid, roof, dots,
      el("text", {x: W / 2, y: H - 4, "text-anchor": "middle"}, "operations per byte"), el("text", {x: 4, y: 10}, "GFLOP/s")),
    el("div", {class: "legend"}, el("span", {}, el("i", {style: "background:var(--c0)"}), "bound by compute"), el("span", {}, el("i", {style: "background:var(--c2)"}), "bound by memory"),
      el("span", {}, "area: share of the time")));
}

function memoryCard() {
  const m = data.memory, n = m.steps.length;
  if (!n || !m.peak_bytes) return null;
  const px = (i) => LEFT + i / n * (W - LEFT - RIGHT), py = (b) => H - BOTTOM - b / m.peak_bytes * (H - TOP - BOTTOM);
  const path = m.steps.map((s, i) => (i ? "L" : "M") + px(i) + " " + py(s.bytes) + "L" + px(i + 1) + " " + py(s.bytes)).join("");
  const live = (i) => m.values.filter((v) => v.first <= i && i <= v.last).sort((a, b) => b.bytes - a.bytes);
  const describe = (i) => [el("b", {}, m.steps[i].node), el("div", {}, format.bytes(m.steps[i].bytes) + " in use, step " + (i + 1) + " of " + n),
    live(i).slice(0, 5).map((v) => el("div", {class: "faint"}, format.bytes(v.bytes) + " " + v.name))];
  const svg = el("svg", {class: "plot", id: "memory-plot", viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": "bytes in use at each step"},
    [0, 0.25, 0.5, 0.75, 1].map((s) => [el("line", {class: "grid", x1: LEFT, x2: W - RIGHT, y1: py(s * m.peak_bytes), y2: py(s * m.peak_bytes)}),
      el("text", {x: LEFT - 6, y: py(s * m.peak_bytes) + 4, "text-anchor": "end"}, format.bytes(Math.round(s * m.peak_bytes)))]),
    el("path", {class: "area", d: path + "L" + px(n) + " " + py(0) + "L" + px(0) + " " + py(0) + "Z"}),
    el("line", {class: "peak", x1: px(m.peak_step + 0.5), x2: px(m.peak_step + 0.5), y1: TOP, y2: H - BOTTOM}),
    el("text", {x: W / 2, y: H - 6, "text-anchor": "middle"}, "steps of the run"));
  svg.addEventListener("pointermove", (e) => {
    const r = svg.getBoundingClientRect(), i = Math.floor(((e.clientX - r.left) / r.width * W - LEFT) / (W - LEFT - RIGHT) * n);
    if (i >= 0 && i < n) tip.show(e.clientX, e.clientY, describe(i)); else tip.hide();
  });
  svg.addEventListener("pointerleave", () => tip.hide());
  const rows = live(m.peak_step).slice(0, 8).map((v) => el("tr", {}, el("td", {class: "wrap"}, v.name), el("td", {class: "num"}, format.bytes(v.bytes))));
  return el("section", {class: "card", id: "memory"}, el("h2", {}, "Memory over the run"), svg,
    el("p", {class: "soft wrap"}, "Peak of " + format.bytes(m.peak_bytes) + " at " + m.steps[m.peak_step].node),
    rows.length ? el("table", {}, el("tbody", {}, rows)) : null);
}

function threadsCard() {
  if (data.by_thread.length < 2) return null;
  return el("section", {class: "card"}, el("h2", {}, "Threads"), el("table", {}, el("tbody", {}, data.by_thread.map((t) => el("tr", {},
    el("td", {}, t.thread ? "worker " + t.thread : "thread of the run"), el("td", {class: "num"}, format.time(t.us)),
    el("td", {class: "share num"}, el("i", {style: "width:" + Math.min(100, 100 * t.us / data.run_us).toFixed(1) + "%"}), el("span", {}, format.percent(t.us / data.run_us))))))));
}

showHead();
fill(byId("main"), tiles(), findings(), tableCard(), timelineCard(), el("div", {class: "two"}, rooflineCard(), memoryCard()), threadsCard());
showTable();
drawTimeline();
addEventListener("resize", drawTimeline);
addEventListener("themechange", () => { drawTimeline(); showTable(); });
document.title = "hone profile \u00b7 " + data.model.split("/").pop();
document.documentElement.dataset.ready = "1";
