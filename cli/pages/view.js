// The page: panes, bar, keys, and what happens on a choice.

const view = {
  panes: [],
  hits: [],
  current: -1,

  paneOf: (m) => view.panes[m.index],

  pick(pane, box) {
    byId("hits").hidden = true;
    for (const p of view.panes) { p.marked = new Set(); if (p !== pane) p.select(null); }
    pane.select(box);
    if (!box) showOverview();
    else if (box.kind === KIND.node) showNode(pane, box);
    else showValue(pane, box);
    if (comparing && box && box.kind === KIND.node) view.showPartners(pane, box);
    view.active = pane;
    try { history.replaceState(null, "", box && box.kind === KIND.node ? "#" + encodeURIComponent(pane.model.nodeName(pane.model.nodes[box.id])) : "#"); } catch (e) { /* a page without an address */ }
  },

  showPartners(pane, box) {
    const other = view.panes[1 - pane.model.index];
    other.marked = new Set(pane.model.partners.get(box.id) || []);
    const boxes = [...other.marked].map((id) => other.scene.boxOf.get(id)).filter(Boolean);
    // What became one with it.
    if (pane.model.index === 0) for (const id of other.marked) for (const b of other.model.partners.get(id) || []) if (b !== box.id) pane.marked.add(b);
    if (boxes.length) other.reveal(boxes[0]);
    else other.draw();
    pane.draw();
  },

  // A node, wherever it is: graphs around it are opened; a constant is where it is read.
  goTo(m, id) {
    let node = m.nodes[id];
    while (m.isConstant(node) && m.values[node.outputs[0]].readers.length) node = m.nodes[m.values[node.outputs[0]].readers[0]];
    const pane = view.paneOf(m);
    view.showPane(m.index);
    const closed = ownersOf(m, node).filter((o) => !pane.open.has(o.id));
    for (const o of closed) pane.open.add(o.id);
    if (closed.length) pane.rebuild();
    const box = pane.scene.boxOf.get(node.id);
    if (!box) return;
    view.pick(pane, box);
    pane.centre(box);
  },

  goToValue(m, id) {
    const pane = view.paneOf(m), box = pane.scene.boxes.find((b) => b.kind !== KIND.node && b.id === id);
    view.showPane(m.index);
    if (box) { view.pick(pane, box); pane.centre(box); }
  },

  // ---- search ----

  search(text) { byId("query").value = text; view.find(); },

  find() {
    const text = byId("query").value;
    view.hits = findNodes(text);
    view.current = -1;
    view.markMatches(text.trim() ? view.hits : null);
    byId("found").textContent = text.trim() ? `${format.count(view.hits.length)} found` : "";
    showHits(view.hits, -1);
  },

  showMatches(m, ids, label) {
    byId("query").value = "";
    view.hits = ids.map((id) => ({model: m, node: m.nodes[id]}));
    view.markMatches(view.hits);
    byId("found").textContent = `${format.count(ids.length)}: ${label}`.slice(0, 60);
    showHits(view.hits, 0);
    view.choose(0);
  },

  markMatches(hits) {
    for (const p of view.panes) {
      p.matches = hits && new Set(hits.filter((h) => h.model === p.model).map((h) => h.node.id));
      p.draw();
    }
  },

  choose(i) {
    if (!view.hits.length) return;
    view.current = (i + view.hits.length) % view.hits.length;
    const {model, node} = view.hits[view.current];
    view.goTo(model, node.id);
    byId("found").textContent = `${view.current + 1} of ${format.count(view.hits.length)}`;
    if (document.activeElement === byId("query")) showHits(view.hits, view.current);
  },

  clear() {
    byId("query").value = "";
    view.find();
    view.pick(view.active, null);
  },

  // ---- panes ----

  showPane(index) {
    view.panes.forEach((p, i) => p.element.classList.toggle("away", i !== index));
    for (const [i, tab] of [...byId("tabs").children].entries()) tab.setAttribute("aria-pressed", String(i === index));
    view.active = view.panes[index];
    view.active.draw();
  },

  paint() {
    const painted = paintNodes(MODES.find((mode) => mode.id === byId("mode").value));
    showLegend(painted);
    for (const p of view.panes) { p.paintKey = painted.mode.id + theme.dark; p.draw(); }
  },

  // ---- keys ----

  // To a neighbour along an edge, or beside in the rank.
  step(dx, dy) {
    const pane = view.active, from = pane.selected;
    if (!from) return view.pick(pane, pane.scene.boxes[0]);
    const m = pane.model, near = pane.nearValues(), candidates = [];
    for (const b of pane.scene.boxes) {
      if (b === from || b.depth !== from.depth) continue;
      const values = b.kind === KIND.node ? [...m.nodes[b.id].inputs, ...m.nodes[b.id].outputs] : [b.id];
      const isRank = Math.abs(b.y - from.y) < 1;
      if (dy ? values.some((v) => near.has(v)) && (b.y - from.y) * dy > 0 : isRank && (b.x - from.x) * dx > 0) candidates.push(b);
    }
    candidates.sort((a, b) => Math.abs(a.y - from.y) - Math.abs(b.y - from.y) || Math.abs(a.x - from.x) - Math.abs(b.x - from.x));
    if (candidates.length) { view.pick(pane, candidates[0]); pane.reveal(candidates[0]); }
  },

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || byId("keys").open) return;
    const inText = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName), p = view.active, box = p.selected;
    const keys = {
      "/": () => byId("query").focus(), "+": () => p.zoom(1.3), "=": () => p.zoom(1.3), "-": () => p.zoom(1 / 1.3), 0: () => p.fit(false), t: () => theme.toggle(),
      n: () => view.choose(view.current + 1), p: () => view.choose(view.current - 1), "?": () => byId("keys").showModal(),
      ArrowUp: () => view.step(0, -1), ArrowDown: () => view.step(0, 1), ArrowLeft: () => view.step(-1, 0), ArrowRight: () => view.step(1, 0),
      Enter: () => { if (box && box.kind === KIND.node && p.model.nodes[box.id].inner.length) { p.openNode(box.id, !p.open.has(box.id)); showNode(p, p.selected); } },
      b: () => { if (comparing) view.showPane(1 - p.model.index); },
    };
    if (e.key === "Escape") { view.clear(); p.canvas.focus(); return; }
    const isLink = e.target.closest && e.target.closest("button, summary, a");
    if (inText || !keys[e.key] || (isLink && e.key === "Enter")) return;
    e.preventDefault();
    keys[e.key]();
  },

  searchKey(e) {
    if (e.key === "Enter" || e.key === "ArrowDown") { e.preventDefault(); view.choose(view.current + (e.shiftKey ? -1 : 1)); }
    else if (e.key === "ArrowUp") { e.preventDefault(); view.choose(view.current - 1); }
  },
};

function showKeys() {
  const rows = [["/", "search"], ["Enter, n, p", "next match, previous match"], ["\u2191 \u2193", "along an edge"], ["\u2190 \u2192", "beside"], ["Enter", "open or close the graph inside"],
    ["+ \u2212 0", "zoom, show all"], ["wheel, drag", "move; with Ctrl zoom"], ["double click", "open, or zoom in"], comparing && ["b", "the other graph"], ["t", "light or dark"], ["Esc", "clear"]].filter(Boolean);
  fill(byId("keys"), el("h2", null, "Keys"), el("dl", null, rows.map(([k, what]) => [el("dt", null, el("kbd", null, k)), el("dd", null, what)])),
    el("div", {class: "faint"}, `hone ${data.hone}`), el("p", null, el("button", {onclick: () => byId("keys").close()}, "Close")));
}

function start() {
  document.title = models.map((m) => m.label).join(" \u2192 ") + " \u2013 hone view";
  byId("title").textContent = models.map((m) => m.label).join(" \u2192 ");
  for (const mode of MODES) byId("mode").append(el("option", {value: mode.id}, mode.label));
  const preferred = ["change", "time", "op"].find((id) => MODES.some((mode) => mode.id === id));
  byId("mode").value = preferred;
  for (const m of models) m.paint = [];
  view.panes = models.map((m) => new Pane(m, view.pick));
  fill(byId("panes"), view.panes.map((p) => p.element));
  view.active = view.panes[0];
  view.panes.forEach((p) => { p.canvas.addEventListener("focus", () => { view.active = p; }); });
  if (comparing) {
    byId("tabs").hidden = false;
    const tabs = ["Before", "After"].map((label, i) => el("button", {"aria-pressed": String(i === 0), onclick: () => { view.showPane(i); }}, label));
    fill(byId("tabs"), tabs);
    view.showPane(0);
  }
  view.paint();
  byId("mode").addEventListener("change", view.paint);
  byId("query").addEventListener("input", view.find);
  byId("query").addEventListener("keydown", view.searchKey);
  byId("query").addEventListener("focus", () => { if (view.hits.length && byId("query").value) byId("hits").hidden = false; });
  byId("in").addEventListener("click", () => view.active.zoom(1.3));
  byId("out").addEventListener("click", () => view.active.zoom(1 / 1.3));
  byId("fit").addEventListener("click", () => view.panes.forEach((p) => p.fit(false)));
  byId("dark").addEventListener("click", () => theme.toggle());
  byId("help").addEventListener("click", () => byId("keys").showModal());
  addEventListener("themechange", view.paint);
  document.addEventListener("keydown", view.key);
  showKeys();
  showOverview();
  view.panes.forEach((p) => p.fit(true));
  const wanted = decodeURIComponent(location.hash.slice(1));
  for (const m of models) {
    const node = wanted && m.nodes.find((n) => n && m.nodeName(n) === wanted);
    if (node) { view.goTo(m, node.id); break; }
  }
  document.documentElement.dataset.ready = "true";
}
start();
