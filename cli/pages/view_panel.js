// The panel: what is known of the selected node or value, or of the models as a whole.

function pairs(rows) { return el("dl", null, rows.filter(Boolean).map(([k, v]) => [el("dt", null, k), el("dd", null, v)])); }
function section(title, ...content) {
  const inside = content.flat(Infinity).filter(Boolean);
  return inside.length ? [el("h3", null, title), inside] : null;
}
function nodeLink(m, id) {
  const n = m.nodes[id];
  return el("button", {class: "link", onclick: () => view.goTo(m, id)}, m.opName(n) + " " + m.nodeName(n));
}
function few(list, make, most) {
  const shown = list.slice(0, most).map(make);
  return list.length > most ? [...shown, el("li", {class: "soft"}, `and ${format.count(list.length - most)} more`)] : shown;
}

// ---- weights ----

function histogram(w) {
  const top = Math.max(...w.bins), n = w.bins.length, step = (w.max - w.min) / n;
  const bars = w.bins.map((count, i) => el("rect", {x: i * 10 + 1, width: 8, y: 90 - (count ? Math.max(1, 88 * Math.sqrt(count / top)) : 0),
    height: count ? Math.max(1, 88 * Math.sqrt(count / top)) : 0,
    "data-tip": `${format.short(w.min + i * step)} to ${format.short(w.min + (i + 1) * step)}: ${format.count(count)}`}));
  return [el("svg", {class: "hist", viewBox: `0 0 ${n * 10} 90`, preserveAspectRatio: "none", role: "img", "aria-label": "Histogram of the elements, heights as square roots"}, bars),
    el("div", {class: "ends"}, el("span", null, format.short(w.min)), el("span", null, "heights: square root of the count"), el("span", null, format.short(w.max)))];
}

function weightDetails(w) {
  const share = (n) => `${format.count(n)} (${format.percent(n / w.n)})`;
  const rows = [["elements", format.count(w.n)], ["size", format.bytes(w.bytes)], w.file && ["file", w.file],
    w.data && ["data", el("code", null, w.data.map(format.short).join(", "))]];
  if (w.mean !== undefined) rows.push(["min, max", `${format.short(w.min)}, ${format.short(w.max)}`], ["mean \u00b1 std", `${format.short(w.mean)} \u00b1 ${format.short(w.std)}`],
    w.zeros && ["zeros", share(w.zeros)], w.denormals && ["denormals", el("span", {class: "chip warn"}, share(w.denormals))],
    w.nan && ["NaN", el("span", {class: "chip bad"}, share(w.nan))], w.inf && ["infinite", el("span", {class: "chip bad"}, share(w.inf))]);
  const box = el("details", null, el("summary", null, w.bins ? "Statistics and histogram" : "Details"));
  // Made when it is opened for the first time.
  box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(pairs(rows), ...(w.bins ? histogram(w) : [])); });
  return box;
}

// ---- values ----

function valueRow(m, id, own, what) {
  if (id < 0) return el("div", {class: "value faint"}, what + ": left out");
  const v = m.values[id], w = m.weights[id];
  const readers = v.readers.filter((r) => r !== own);
  return el("div", {class: "value"}, el("div", {class: "wrap"}, w ? el("span", {class: "chip"}, "weight") : null, w ? " " : null, v.name || "(no name)"),
    el("div", {class: "type"}, v.type),
    w ? weightDetails(w) : null,
    !w && what === "input" && v.producer >= 0 ? el("div", {class: "readers"}, "from ", nodeLink(m, v.producer)) : null,
    what === "output" && readers.length ? el("ul", {class: "readers"}, few(readers, (r) => el("li", null, "to ", nodeLink(m, r)), 12)) : null,
    what === "output" && v.isOutput ? el("div", {class: "readers soft"}, "output of the graph") : null,
    m.atPeak.has(id) ? el("div", {class: "readers"}, el("span", {class: "chip warn"}, `live at the memory peak: ${format.bytes(m.atPeak.get(id))}`)) : null);
}

// ---- what the optimizer did ----

const STATE_TEXTS = {
  kept: "Kept as it is", changed: "Became another operator", fused: "Fused", removed: "Removed: folded, merged or not needed", new: "New",
};

function changeSection(m, n) {
  if (!comparing) return null;
  const other = models[1 - m.index], partners = m.partners.get(n.id) || [], state = m.states.get(n.id);
  const before = m.index === 0 ? [n.id] : partners, parts = [];
  const group = m.index === 0 && partners.length ? (other.partners.get(partners[0]) || []).filter((b) => b !== n.id) : [];
  parts.push(el("p", null, el("span", {class: "chip " + (state === "removed" ? "bad" : state === "new" ? "good" : "")}, state), " ",
    state === "fused" ? (m.index === 0 ? "It is one of several nodes that became one." : `It computes ${partners.length} nodes.`) : STATE_TEXTS[state] + "."));
  if (partners.length) parts.push(el("ul", null, few(partners, (p) => el("li", null, m.index === 0 ? "now " : "was ", nodeLink(other, p)), 40)));
  if (group.length) parts.push(el("div", {class: "soft"}, "together with"), el("ul", null, few(group, (p) => el("li", null, nodeLink(m, p)), 40)));
  const ids = new Set(before);
  for (const r of few(log.rewrites.filter((e) => ids.has(e.node)), (e) => e, 30)) if (r.rule) parts.push(el("div", {class: "why"}, el("b", null, `${r.pass}.${r.rule}`), r.text ? ": " + r.text : "", r.node !== n.id || m.index ? el("div", {class: "soft"}, "at " + r.name) : null));
  for (const r of log.misses.filter((e) => ids.has(e.node)).slice(0, 20)) parts.push(el("div", {class: "why miss"}, "nearly ", el("b", null, `${r.pass}.${r.rule}`), ": " + r.text));
  return section("What the optimizer did", parts);
}

function costSection(m, n) {
  const s = m.steps.get(n.id), e = m.errors.get(n.id), rows = [];
  if (s) rows.push(["time", `${format.time(s.us)}, ${format.percent(s.us / (m.runTime || 1))} of the run`]);
  if (s && s.nodes.length > 1) rows.push(["ran as", `one step with ${s.nodes.length - 1} other node${s.nodes.length > 2 ? "s" : ""}: ${s.op}`]);
  if (s && s.floor > 0) rows.push(["of the peak", `${format.percent(Math.min(1, s.floor / s.us))}, ${s.bound}-bound`]);
  if (s && s.kernel) rows.push(["kernel", s.kernel]);
  if (s && n.macs > 0 && s.nodes.length === 1) rows.push(["rate", `${format.short(2e-3 * n.macs / s.us)} GFLOP/s`]);
  const provider = providerOf(m, n), layout = layoutOf(m, n);
  if (provider) rows.push(["provider", provider]);
  if (layout) rows.push(["layout", layout]);
  if (n.macs > 0) rows.push(["multiply-accumulates", format.amount(n.macs)]);
  if (n.bytes > 0) rows.push(["output", format.bytes(n.bytes)]);
  if (weightBytes(m, n)) rows.push(["weights", format.bytes(weightBytes(m, n))]);
  if (e) for (const k of ["output", "weight", "input"]) if (e[k] !== null) rows.push([`error of ${k}s`, `${e[k].toFixed(1)}\u202fdB SQNR`]);
  return rows.length ? section("Cost", pairs(rows)) : null;
}

function showNode(pane, box) {
  const m = pane.model, n = m.nodes[box.id];
  fill(byId("panel"), el("h2", null, m.opName(n)), el("div", {class: "path"}, m.nodeName(n)),
    el("div", {class: "chips"}, comparing ? el("span", {class: "chip"}, m.index ? "after" : "before") : null, el("span", {class: "chip"}, CATEGORY_NAMES[n.category]),
      n.inner.length ? el("button", {onclick: () => { pane.openNode(n.id, !pane.open.has(n.id)); showNode(pane, pane.scene.boxOf.get(n.id)); }}, pane.open.has(n.id) ? "Close the graph inside" : "Open the graph inside") : null),
    changeSection(m, n), costSection(m, n),
    n.attributes.length ? section("Attributes", pairs(n.attributes.map(([k, v]) => [k, el("code", null, v)]))) : null,
    section("Inputs", n.inputs.map((v) => valueRow(m, v, n.id, "input"))),
    section("Outputs", n.outputs.map((v) => valueRow(m, v, n.id, "output"))),
    n.doc ? section("Documentation", el("div", {class: "wrap"}, n.doc)) : null);
  byId("panel").scrollTop = 0;
}

function showValue(pane, box) {
  const m = pane.model, v = m.values[box.id], what = {1: "Input", 2: "Output", 3: "Value of the enclosing graph"}[box.kind];
  fill(byId("panel"), el("h2", null, v.name), el("div", {class: "path"}, what), el("div", {class: "mono wrap"}, v.type),
    v.producer >= 0 ? section("Made by", nodeLink(m, v.producer)) : null,
    v.readers.length ? section("Read by", el("ul", null, few(v.readers, (r) => el("li", null, nodeLink(m, r)), 40))) : null);
  byId("panel").scrollTop = 0;
}

// ---- the models as a whole ----

function opTable(m) {
  const ops = countOps(m), hasTime = ops.some((o) => o.us), hasMacs = ops.some((o) => o.macs);
  const weight = (o) => hasTime ? o.us : hasMacs ? o.macs : o.n, sum = ops.reduce((s, o) => s + weight(o), 0) || 1;
  return el("table", null, el("thead", null, el("tr", null, el("th", null, "operator"), el("th", {class: "num"}, "nodes"), hasTime ? el("th", {class: "num"}, "time") : hasMacs ? el("th", {class: "num"}, "MACs") : null)),
    el("tbody", null, ops.map((o) => el("tr", null, el("td", {class: "bar", style: `--share:${(100 * weight(o) / sum).toFixed(1)}%`}, el("button", {class: "link", onclick: () => view.search("op:" + o.op)}, o.op)),
      el("td", {class: "num"}, format.count(o.n)), hasTime ? el("td", {class: "num"}, o.us ? format.time(o.us) : "") : hasMacs ? el("td", {class: "num"}, o.macs ? format.amount(o.macs) : "") : null))));
}

function modelFacts(m) {
  const count = m.nodes.filter(Boolean).length;
  return pairs([["nodes", format.count(count)], ["parameters", `${format.amount(m.parameters || 0)}, ${format.bytes(m.parameter_bytes || 0)}`],
    m.macs && !m.unknown && ["multiply-accumulates", format.amount(m.macs)], m.activation_bytes && !m.unknown && ["activations", format.bytes(m.activation_bytes)],
    m.peak && ["memory peak", `${format.bytes(m.peak.bytes)} at ${m.peak.node}`], m.runTime && ["run", format.time(m.runTime)],
    ["operator sets", m.opsets.map(([d, v]) => `${d} ${v}`).join(", ")], m.producer && ["made by", m.producer], m.file_bytes && ["file", format.bytes(m.file_bytes)],
    m.unknown && ["unknown sizes", `of ${format.count(m.unknown)} nodes: they depend on data, or on free dimensions, which --dim NAME=SIZE fixes`]]);
}

function interfaceOf(m) {
  const row = (v) => el("div", {class: "value"}, el("button", {class: "link wrap", onclick: () => view.goToValue(m, v)}, m.values[v].name), el("div", {class: "type"}, m.values[v].type));
  const p = m.pictures[0];
  return [section("Inputs", p.inputs.filter((v) => !m.weights[v]).map(row)), section("Outputs", p.outputs.map(row))];
}

function changeTable() {
  const counts = models.map((m) => new Map(countOps(m).map((o) => [o.op, o.n])));
  const ops = [...new Set([...counts[0].keys(), ...counts[1].keys()])].filter((o) => counts[0].get(o) !== counts[1].get(o));
  const n = models.map((m) => m.nodes.filter(Boolean).length);
  const rows = [["all nodes", n[0], n[1]], ...ops.map((o) => [o, counts[0].get(o) || 0, counts[1].get(o) || 0]).sort((a, b) => Math.abs(b[1] - b[2]) - Math.abs(a[1] - a[2]))];
  return el("table", null, el("thead", null, el("tr", null, el("th", null, "operator"), el("th", {class: "num"}, "before"), el("th", {class: "num"}, "after"))),
    el("tbody", null, rows.map(([o, a, b], i) => el("tr", null, el("td", null, i ? el("button", {class: "link", onclick: () => view.search("op:" + o)}, o) : el("b", null, o)), el("td", {class: "num"}, format.count(a)), el("td", {class: "num"}, format.count(b))))));
}

// Entries of the log by rule; for near misses, by reason.
function logGroups(entries, isMiss) {
  const groups = new Map();
  for (const e of entries) {
    const key = `${e.pass}.${e.rule}` + (isMiss ? "\n" + e.text : "");
    groups.set(key, (groups.get(key) || []).concat(e));
  }
  return [...groups.values()].sort((a, b) => b.length - a.length).slice(0, 40).map((g) => {
    const known = g.filter((e) => e.node >= 0).map((e) => e.node);
    const label = `${g[0].pass}.${g[0].rule}`;
    return el("div", {class: "why" + (isMiss ? " miss" : "")}, known.length ? el("button", {class: "link", onclick: () => view.showMatches(models[0], known, label)}, label) : label,
      ` ${g.length > 1 ? format.count(g.length) + " times" : ""}`, g[0].text ? el("div", {class: "soft"}, g[0].text) : null);
  });
}

function showOverview() {
  const m = models[0];
  if (comparing) {
    fill(byId("panel"), el("h2", null, "Before and after"), el("div", {class: "path"}, models.map((x) => x.label).join(" \u2192 ")), changeTable(),
      log.rewrites.length ? section("Rewrites", logGroups(log.rewrites, false)) : null,
      log.misses.length ? section("Near misses", logGroups(log.misses, true)) : null,
      models.map((x) => section(x.index ? "After" : "Before", modelFacts(x))), interfaceOf(m));
    return;
  }
  fill(byId("panel"), el("h2", null, m.label), el("div", {class: "path"}, m.pictures[0].name), modelFacts(m), interfaceOf(m), section("Operators", opTable(m)),
    m.metadata.length ? section("Metadata", pairs(m.metadata)) : null, m.doc ? section("Documentation", el("div", {class: "wrap"}, m.doc)) : null);
}
