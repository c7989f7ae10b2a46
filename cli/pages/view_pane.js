// A pane shows the scene of one model: drawing with culling, moving and zooming, picking, a map.

const SMALLEST = 0.004, LARGEST = 4;
const CANVAS_COLOURS = ["panel", "raised", "sunken", "line", "line-strong", "text", "text-soft", "text-faint", "accent", "edge", "bg", "hot", "good", "font"];
const textCache = new Map();

// Text that fits, with "…"; measured once per text and width.
function fitText(ctx, text, width, font) {
  const key = font + width + text;
  let fitted = textCache.get(key);
  if (fitted !== undefined) return fitted;
  fitted = text;
  if (ctx.measureText(text).width > width) {
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (ctx.measureText(text.slice(0, middle) + "\u2026").width <= width) low = middle;
      else high = middle - 1;
    }
    fitted = text.slice(0, low) + "\u2026";
  }
  if (textCache.size > 20000) textCache.clear();
  textCache.set(key, fitted);
  return fitted;
}

class Pane {
  constructor(model, onPick) {
    this.model = model;
    this.onPick = onPick;
    this.open = new Set();
    this.x = this.y = 0;
    this.scale = 1;
    this.selected = null;   // a box
    this.marked = new Set(); // nodes of the other model's choice
    this.matches = null;     // nodes that a search found
    this.canvas = el("canvas", {class: "graph", tabindex: 0, role: "application", "aria-label": "Graph of " + model.label + ". Arrow keys go from node to node."});
    this.map = el("canvas", {class: "map", "aria-hidden": "true"});
    this.element = el("section", {class: "pane"}, this.canvas, comparing ? el("div", {class: "name"}, (model.index ? "After: " : "Before: ") + model.label) : null, this.map);
    this.ctx = this.canvas.getContext("2d");
    this.rebuild();
    this.listen();
  }

  rebuild() {
    const selected = this.selected;
    this.scene = makeScene(this.model, this.open);
    this.selected = selected && (selected.kind === KIND.node ? this.scene.boxOf.get(selected.id) : this.scene.boxes.find((b) => b.kind === selected.kind && b.id === selected.id)) || null;
    this.mapDrawn = null;
    this.draw();
  }

  // ---- the view ----

  get width() { return this.canvas.clientWidth; }
  get height() { return this.canvas.clientHeight; }
  toScene(px, py) { return [(px - this.x) / this.scale, (py - this.y) / this.scale]; }

  // A pane that is not shown has no size: what needs one is done when it has.
  whenShown(action) {
    if (this.width) return action();
    this.later = action;
  }

  // The whole graph; or, at first, as much from the top as can be read.
  fit(isReadable) { this.whenShown(() => this.fitNow(isReadable)); }
  fitNow(isReadable) {
    const s = this.scene, w = this.width - 40, h = this.height - 60;
    let scale = Math.min(w / s.width, h / s.height, 1.2);
    if (isReadable) scale = w / s.width < 0.5 ? 0.8 : Math.min(1, w / s.width);
    this.scale = Math.max(SMALLEST, scale);
    const first = isReadable && s.width * this.scale > w ? s.boxes[0].x : s.width / 2;
    this.x = this.width / 2 - first * this.scale;
    this.y = isReadable || s.height * this.scale > h ? 46 : (this.height - s.height * this.scale) / 2;
    this.draw();
  }

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor)), k = scale / this.scale;
    this.x = px - (px - this.x) * k;
    this.y = py - (py - this.y) * k;
    this.scale = scale;
    this.draw();
  }

  move(dx, dy) { this.x += dx; this.y += dy; this.draw(); }

  centre(box) { this.whenShown(() => this.centreNow(box)); }
  centreNow(box) {
    if (this.scale < 0.6) this.scale = 0.9;
    this.x = this.width / 2 - box.x * this.scale;
    this.y = this.height / 2 - (box.y + Math.min(box.h, 300) / 2) * this.scale;
    this.draw();
  }

  // Only as far as needed to see it.
  reveal(box) {
    if (!this.width) return this.centre(box);
    const x = box.x * this.scale + this.x, y = box.y * this.scale + this.y;
    if (this.scale < 0.35 || x < 60 || x > this.width - 60 || y < 50 || y > this.height - 90) this.centre(box);
    else this.draw();
  }

  select(box) { this.selected = box; this.draw(); }

  openNode(id, isOpen) {
    const before = this.scene.boxOf.get(id), at = before && [before.x, before.y];
    if (isOpen) this.open.add(id); else this.open.delete(id);
    this.rebuild();
    const after = this.scene.boxOf.get(id);
    if (at && after) this.move((at[0] - after.x) * this.scale, (at[1] - after.y) * this.scale);
    if (isOpen && after && after.inside) this.showWhole(after);
  }

  // An open node, from its top, as large as the pane has room for.
  showWhole(box) {
    const fits = Math.min((this.width - 40) / box.w, (this.height - 60) / box.h);
    if (fits < this.scale) this.scale = Math.max(0.3, fits);
    this.x = this.width / 2 - box.x * this.scale;
    this.y = 46 - box.y * this.scale;
    this.draw();
  }

  boxAt(px, py) {
    const [x, y] = this.toScene(px, py), [first, last] = this.scene.range(y, y);
    const inside = (b) => Math.abs(x - b.x) <= b.w / 2 && y >= b.y && y <= b.y + b.h;
    let best = null;
    for (let k = first; k <= last; k++) for (const b of this.scene.buckets[k].boxes) if (inside(b) && (!best || b.depth > best.depth)) best = b;
    for (const b of this.scene.containers) if (inside(b) && (!best || b.depth > best.depth)) best = b;
    return best;
  }

  // ---- drawing ----

  draw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => { this.isWaiting = false; this.drawNow(); });
  }

  drawNow() {
    const {canvas, ctx, scene} = this, ratio = devicePixelRatio || 1, w = this.width, h = this.height;
    if (!w || !h) return;
    if (this.later) {
      const action = this.later;
      this.later = null;
      return action();
    }
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    if (this.coloursFor !== theme.dark) {
      this.coloursFor = theme.dark;
      this.colours = Object.fromEntries(CANVAS_COLOURS.map((k) => [k, colour("--" + k)]));
    }
    const c = this.colours;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, canvas.width, canvas.height);
    ctx.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.x, ratio * this.y);
    const [left, top] = this.toScene(0, 0), [right, bottom] = this.toScene(w, h);
    const window = {left, top, right, bottom, range: scene.range(top, bottom)};
    for (const b of scene.containers) this.drawContainer(b, c);
    if (this.scale > 0.02) this.drawEdges(window, c);
    this.drawJumps(window, c);
    const seen = new Set();
    for (let k = window.range[0]; k <= window.range[1]; k++)
      for (const b of scene.buckets[k].boxes)
        if (!seen.has(b.index) && b.x + b.w / 2 >= left && b.x - b.w / 2 <= right && b.y + b.h >= top && b.y <= bottom) { seen.add(b.index); this.drawBox(b, c); }
    this.nDrawn = seen.size;
    this.drawMap(window, c);
  }

  drawContainer(b, c) {
    const {ctx} = this, x = b.x - b.w / 2;
    ctx.fillStyle = b.depth % 2 ? c.bg : c.sunken;
    ctx.strokeStyle = c["line-strong"];
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.roundRect(x, b.y, b.w, b.h, 10);
    ctx.fill();
    ctx.stroke();
    if (this.scale < 0.3) return;
    ctx.font = "600 11px " + c.font;
    ctx.fillStyle = c["text-soft"];
    ctx.textAlign = "left";
    for (const part of b.inside.parts) ctx.fillText(fitText(ctx, part.label, part.placed.width, "l"), part.x, part.y - 2);
  }

  addCurve(s, i) {
    const {ctx} = this, x1 = s[i], y1 = s[i + 1], x2 = s[i + 2], y2 = s[i + 3];
    ctx.moveTo(x1, y1);
    if (x1 === x2 || this.scale < 0.12) ctx.lineTo(x2, y2);
    else ctx.bezierCurveTo(x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2);
  }

  // Values that the selected box reads or makes are drawn in colour, over the others.
  drawEdges(window, c) {
    const {ctx, scene} = this, s = scene.segments, near = this.nearValues(), strong = [];
    ctx.lineWidth = Math.max(1.2, 0.6 / this.scale);
    ctx.strokeStyle = c.edge;
    ctx.globalAlpha = this.matches ? 0.4 : 1;
    ctx.beginPath();
    const seen = new Set();
    for (let k = window.range[0]; k <= window.range[1]; k++) for (const i of scene.buckets[k].segments) {
      if (Math.max(s[i], s[i + 2]) < window.left || Math.min(s[i], s[i + 2]) > window.right || seen.has(i)) continue;
      seen.add(i);
      if (near.size && near.has(s[i + 4])) strong.push(i);
      else this.addCurve(s, i);
      // Browsers draw several short paths faster than a long one.
      if (seen.size % 256 === 0) { ctx.stroke(); ctx.beginPath(); }
    }
    ctx.stroke();
    ctx.globalAlpha = 1;
    if (!strong.length) return;
    ctx.strokeStyle = c.accent;
    ctx.lineWidth = Math.max(2, 1.2 / this.scale);
    ctx.beginPath();
    for (const i of strong) this.addCurve(s, i);
    ctx.stroke();
  }

  nearValues() {
    const b = this.selected;
    if (!b) return new Set();
    if (b.kind !== KIND.node) return new Set([b.id]);
    const n = this.model.nodes[b.id];
    return new Set([...n.inputs, ...n.outputs].filter((v) => v >= 0));
  }

  // Long edges are stubs; those of the selected box are whole.
  drawJumps(window, c) {
    const {ctx} = this;
    if (this.scale < 0.15) return;
    ctx.lineWidth = 1.2;
    ctx.strokeStyle = c["line-strong"];
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    for (const j of this.scene.jumps) {
      for (const [b, sign] of [[j.from, 1], [j.to, -1]]) {
        if (b.y > window.bottom || b.y + b.h < window.top) continue;
        const x = b.x + b.w / 2 - 14, y = sign > 0 ? b.y + b.h : b.y;
        ctx.moveTo(x, y);
        ctx.lineTo(x, y + sign * 12);
      }
    }
    ctx.stroke();
    ctx.strokeStyle = c.accent;
    ctx.beginPath();
    for (const j of this.scene.jumps) if (this.selected && (j.from === this.selected || j.to === this.selected)) {
      const y1 = j.from.y + j.from.h, y2 = j.to.y, bow = Math.max(j.from.x + j.from.w / 2, j.to.x + j.to.w / 2) + 60;
      ctx.moveTo(j.from.x, y1);
      ctx.bezierCurveTo(bow, y1 + 60, bow, y2 - 60, j.to.x, y2);
    }
    ctx.stroke();
    ctx.setLineDash([]);
  }

  drawBox(b, c) {
    const {ctx} = this, isNode = b.kind === KIND.node, paint = isNode ? this.model.paint[b.id] : null;
    const isSelected = b === this.selected, isMarked = isNode && this.marked.has(b.id);
    const x = b.x - b.w / 2, isDim = this.matches && !(isNode && this.matches.has(b.id)) && !isSelected;
    ctx.globalAlpha = isDim ? 0.28 : 1;
    const background = paint && paint.fill || (isNode ? c.raised : c.sunken);
    if (this.scale < 0.12) {
      ctx.fillStyle = paint && (paint.stripe || paint.fill) || c["line-strong"];
      const thin = Math.max(0, 1.6 / this.scale - BOX) / 2;
      const grow = isSelected || isMarked || (this.matches && !isDim) ? Math.min(40, 3 / this.scale) : 0;
      if (grow) ctx.fillStyle = isMarked ? c.good : c.accent;
      ctx.fillRect(x - grow, b.y - grow - thin, b.w + 2 * grow, BOX + 2 * (grow + thin));
      ctx.globalAlpha = 1;
      return;
    }
    ctx.fillStyle = background;
    ctx.strokeStyle = isSelected ? c.accent : isMarked ? c.good : this.matches && !isDim ? c.accent : c["line-strong"];
    ctx.lineWidth = isSelected || isMarked ? 3 : this.matches && !isDim ? 2 : 1;
    if (b.kind === KIND.outer) ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.roundRect(x, b.y, b.w, BOX, isNode ? 7 : BOX / 2);
    ctx.fill();
    ctx.stroke();
    ctx.setLineDash([]);
    if (paint && paint.stripe && this.scale > 0.12) {
      ctx.fillStyle = paint.stripe;
      ctx.beginPath();
      ctx.roundRect(x, b.y, 6, BOX, [7, 0, 0, 7]);
      ctx.fill();
    }
    if (this.scale > 0.25) this.drawTexts(b, paint && paint.ink || c.text, paint && paint.ink || c["text-soft"]);
    ctx.globalAlpha = 1;
  }

  drawTexts(b, ink, soft) {
    const {ctx, model} = this, isNode = b.kind === KIND.node, node = isNode ? model.nodes[b.id] : null;
    const title = isNode ? node.op : model.values[b.id].name, openable = isNode && node.inner.length;
    const hasBoth = b.subtitle && this.scale >= 0.4;
    const middle = b.x + (isNode && (this.model.paint[b.id] || {}).stripe ? 3 : 0), font = this.colours.font;
    ctx.textAlign = "center";
    ctx.fillStyle = ink;
    ctx.font = (isNode ? "600 " : "") + "12.5px " + font;
    ctx.fillText(fitText(ctx, (openable ? (b.inside ? "\u25be " : "\u25b8 ") : "") + title, b.w - 16, isNode ? "t" : "v"), middle, b.y + (hasBoth ? 17 : 25));
    if (!hasBoth) return;
    ctx.font = "10.5px " + font;
    ctx.fillStyle = soft;
    ctx.fillText(fitText(ctx, b.subtitle, b.w - 16, "s"), middle, b.y + 31);
  }

  // ---- the map ----

  drawMap(window, c) {
    const {scene, map} = this, ratio = devicePixelRatio || 1;
    const inView = window.left <= 0 && window.right >= scene.width && window.top <= 0 && window.bottom >= scene.height;
    const k = Math.min(Math.min(130, this.width * 0.16) / scene.width, Math.max(60, this.height - 140) / scene.height);
    const w = Math.max(14, scene.width * k), h = Math.max(10, scene.height * k);
    map.hidden = inView || this.width < 500;
    map.style.display = map.hidden ? "none" : "";
    if (map.hidden) return;
    const ctx = map.getContext("2d"), key = w + "," + h + this.paintKey + (this.matches ? this.matches.size : "");
    if (this.mapDrawn !== key) {
      this.mapDrawn = key;
      map.style.width = w + "px";
      map.style.height = h + "px";
      this.mapImage = el("canvas", {width: Math.ceil(w * ratio), height: Math.ceil(h * ratio)});
      const image = this.mapImage.getContext("2d");
      image.scale(k * ratio, k * ratio);
      for (const b of scene.boxes) {
        const paint = b.kind === KIND.node ? this.model.paint[b.id] : null;
        image.fillStyle = this.matches && b.kind === KIND.node && this.matches.has(b.id) ? c.hot : paint && (paint.stripe || paint.fill) || c["line-strong"];
        image.fillRect(b.x - b.w / 2, b.y, b.w, Math.max(BOX, 1.4 / k));
      }
    }
    this.mapScale = k;
    map.width = Math.ceil(w * ratio);
    map.height = Math.ceil(h * ratio);
    ctx.drawImage(this.mapImage, 0, 0);
    ctx.scale(ratio, ratio);
    ctx.strokeStyle = c.accent;
    ctx.lineWidth = 1.5;
    const x = Math.max(1, window.left * k), y = Math.max(1, window.top * k);
    ctx.strokeRect(x, y, Math.max(4, Math.min(w - 1, window.right * k) - x), Math.max(4, Math.min(h - 1, window.bottom * k) - y));
  }

  // ---- pointers ----

  listen() {
    const fingers = new Map();
    let moved = 0, distance = 0;
    const spot = (e) => { const r = this.canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
    this.canvas.addEventListener("pointerdown", (e) => {
      fingers.set(e.pointerId, spot(e));
      this.canvas.setPointerCapture(e.pointerId);
      moved = distance = 0;
      tip.hide();
    });
    this.canvas.addEventListener("pointermove", (e) => {
      const at = spot(e), before = fingers.get(e.pointerId);
      if (!before) return this.hover(e, at);
      moved += Math.abs(at[0] - before[0]) + Math.abs(at[1] - before[1]);
      fingers.set(e.pointerId, at);
      if (fingers.size === 1 && moved > 3) {
        this.canvas.classList.add("dragged");
        this.move(at[0] - before[0], at[1] - before[1]);
      } else if (fingers.size === 2) {
        const [a, b] = [...fingers.values()], d = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (distance) this.zoom(d / distance, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
        this.move((at[0] - before[0]) / 2, (at[1] - before[1]) / 2);
        distance = d;
      }
    });
    const end = (e) => {
      const was = fingers.delete(e.pointerId);
      this.canvas.classList.remove("dragged");
      if (was && e.type === "pointerup" && moved <= 3 && !fingers.size) this.onPick(this, this.boxAt(...spot(e)));
      distance = 0;
    };
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
    this.canvas.addEventListener("pointerleave", () => tip.hide());
    this.canvas.addEventListener("dblclick", (e) => {
      const b = this.boxAt(...spot(e));
      if (b && b.kind === KIND.node && this.model.nodes[b.id].inner.length) this.openNode(b.id, !this.open.has(b.id));
      else this.zoom(1.6, ...spot(e));
    });
    this.canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      const unit = e.deltaMode === 1 ? 30 : 1;
      if (e.ctrlKey || e.metaKey) this.zoom(Math.exp(-e.deltaY * unit * 0.006), ...spot(e));
      else if (e.shiftKey && !e.deltaX) this.move(-e.deltaY * unit, 0);
      else this.move(-e.deltaX * unit, -e.deltaY * unit);
    }, {passive: false});
    const toMap = (e) => {
      if (!(e.buttons & 1)) return;
      const r = this.map.getBoundingClientRect();
      this.x = this.width / 2 - (e.clientX - r.left) / this.mapScale * this.scale;
      this.y = this.height / 2 - (e.clientY - r.top) / this.mapScale * this.scale;
      this.draw();
    };
    this.map.addEventListener("pointerdown", (e) => { this.map.setPointerCapture(e.pointerId); toMap(e); });
    this.map.addEventListener("pointermove", toMap);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  hover(e, at) {
    const b = e.pointerType === "touch" ? null : this.boxAt(...at);
    this.canvas.classList.toggle("over", !!b);
    if (!b) return tip.hide();
    tip.show(e.clientX, e.clientY, ...tipOf(this.model, b));
  }
}

function tipOf(m, b) {
  if (b.kind !== KIND.node) return [el("b", null, m.values[b.id].name), el("div", {class: "soft mono"}, m.values[b.id].type)];
  const n = m.nodes[b.id], lines = [el("b", null, m.opName(n)), " ", m.nodeName(n)];
  const line = (text) => lines.push(el("div", {class: "soft"}, text));
  if (n.outputs[0] >= 0) lines.push(el("div", {class: "soft mono"}, m.values[n.outputs[0]].type));
  if (m.steps.has(n.id)) line(format.time(m.steps.get(n.id).us) + ", " + format.percent(m.steps.get(n.id).us / (m.runTime || 1)) + " of the run");
  if (n.macs > 0) line(format.amount(n.macs) + " multiply-accumulates");
  if (comparing && m.states.get(n.id)) line(m.states.get(n.id));
  return lines;
}
