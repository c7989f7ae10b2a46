// Ways to colour nodes: each has a value per node, and colours by number or by kind.

const STATE_COLOURS = {kept: "--c8", changed: "--c0", fused: "--c3", removed: "--bad", new: "--good"};
const CATEGORY_NAMES = CATEGORIES.map((c) => c[0]);

function outputType(m, n) { return n.outputs[0] >= 0 ? elementType(m.values[n.outputs[0]].type) : "unknown"; }

// The narrowest type that a node computes with: that of its weights, or of its output.
function precisionOf(m, n) {
  const weights = m.weightsOf(n).filter((v) => m.weights[v].n > 16).map((v) => elementType(m.values[v].type));
  return weights.find((t) => t !== "float" && !/^u?int(32|64)$/.test(t)) || weights[0] || outputType(m, n);
}

function providerOf(m, n) {
  const step = m.steps.get(n.id);
  if (step && step.provider) return step.provider.replace(/ExecutionProvider$/, "").toLowerCase();
  return m.peak && m.peak.providers[n.id] || "";
}

function layoutOf(m, n) {
  const step = m.steps.get(n.id);
  if (!step) return "";
  if (step.domain === "hone" || /nchwc|nhwc/i.test(step.domain + step.op)) return /^Nchw/.test(step.op) ? "channels first" : /nchwc/.test(step.domain) ? "blocked" : "channels last";
  return step.op === "Transpose" ? "transposed" : "as in the model";
}

// What the results of a node have of the bytes that are live at the peak.
function peakBytes(m, n) { return n.outputs.reduce((sum, v) => sum + (m.atPeak.get(v) || 0), 0); }

const any = (test) => models.some((m) => m.nodes.some((n) => n && test(m, n)));

const MODES = [
  {id: "change", label: "Change", when: () => comparing, kind: (m, n) => m.states.get(n.id) || "", kinds: STATE_COLOURS},
  {id: "op", label: "Operator", when: () => true, kind: (m, n) => CATEGORY_NAMES[n.category], soft: true,
    kinds: Object.fromEntries(CATEGORY_NAMES.map((name, i) => [name, "--c" + i]))},
  {id: "time", label: "Time", when: () => models.some((m) => m.steps.size), number: (m, n) => m.steps.has(n.id) ? m.steps.get(n.id).us : null, text: format.time},
  {id: "floor", label: "Share of the machine's peak", when: () => any((m, n) => m.steps.has(n.id) && m.steps.get(n.id).floor > 0), whole: true,
    number: (m, n) => { const s = m.steps.get(n.id); return s && s.floor > 0 && s.us > 0 ? Math.min(1, s.floor / s.us) : null; }, text: format.percent},
  {id: "macs", label: "Multiply-accumulates", when: () => any((m, n) => n.macs > 0), number: (m, n) => n.macs > 0 ? n.macs : null, text: format.amount},
  {id: "weights", label: "Weights", when: () => any((m, n) => m.weightsOf(n).length), number: (m, n) => weightBytes(m, n) || null, text: format.bytes},
  {id: "bytes", label: "Output bytes", when: () => any((m, n) => n.bytes > 0), number: (m, n) => n.bytes > 0 ? n.bytes : null, text: format.bytes},
  {id: "peak", label: "Share of the memory peak", when: () => models.some((m) => m.atPeak.size), whole: true,
    number: (m, n) => peakBytes(m, n) ? peakBytes(m, n) / Math.max(1, m.peak.bytes) : null, text: format.percent},
  {id: "precision", label: "Precision", when: () => true, kind: precisionOf},
  {id: "sensitivity", label: "Sensitivity to quantization", when: () => models.some((m) => m.errors.size), reversed: true,
    number: (m, n) => m.errors.has(n.id) ? m.errors.get(n.id).output ?? m.errors.get(n.id).weight : null, text: (v) => v.toFixed(1) + "\u202fdB"},
  {id: "provider", label: "Provider", when: () => any((m, n) => providerOf(m, n)), kind: providerOf},
  {id: "layout", label: "Layout", when: () => any((m, n) => layoutOf(m, n)), kind: layoutOf},
].filter((mode) => mode.when());

// Colours of kinds that have no fixed ones: by frequency.
function kindColours(mode) {
  if (mode.kinds) return mode.kinds;
  const counts = new Map();
  for (const m of models) for (const n of drawnNodes(m)) {
    const k = mode.kind(m, n);
    if (k) counts.set(k, (counts.get(k) || 0) + 1);
  }
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1]).map(([k], i) => [k, "--c" + Math.min(i, 8)]));
}

function numberRange(mode) {
  let low = Infinity, high = -Infinity;
  for (const m of models) for (const n of drawnNodes(m)) {
    const v = mode.number(m, n);
    if (v !== null && v !== undefined) { low = Math.min(low, v); high = Math.max(high, v); }
  }
  return mode.whole ? [0, 1] : mode.reversed ? [low, high] : [0, high];
}

// Gives every node its paint: {fill, ink} of a number, {stripe, fill} of a kind, or null.
function paintNodes(mode) {
  const kinds = mode.kind ? kindColours(mode) : null, [low, high] = mode.number ? numberRange(mode) : [0, 1];
  const hex = kinds && Object.fromEntries(Object.entries(kinds).map(([k, c]) => [k, colour(c)]));
  const tints = hex && Object.fromEntries(Object.entries(hex).map(([k, c]) => [k, mixHex(colour("--raised"), c, 0.2)]));
  const heats = Array.from({length: 65}, (_, i) => heat(i / 64));
  for (const m of models) {
    m.paint = m.nodes.map((n) => {
      if (!n) return null;
      if (kinds) {
        const k = mode.kind(m, n), c = hex[k];
        return !c ? null : mode.soft || k === "kept" ? {stripe: c} : {stripe: c, fill: tints[k]};
      }
      const v = mode.number(m, n);
      if (v === null || v === undefined) return null;
      const t = high > low ? (v - low) / (high - low) : 1;
      const c = heats[Math.round(64 * (mode.reversed ? 1 - t : mode.whole ? t : Math.sqrt(t)))];
      return {fill: c, ink: inkOn(c)};
    });
  }
  return {mode, kinds: hex, low, high};
}

function showLegend(painted) {
  const {mode, kinds, low, high} = painted, legend = byId("legend");
  if (kinds) {
    const used = new Set(models.flatMap((m) => drawnNodes(m).map((n) => mode.kind(m, n))));
    fill(legend, Object.entries(kinds).filter(([k]) => used.has(k)).map(([k, c]) =>
      el("span", {class: "swatch"}, el("i", {style: "background:" + c}), k)));
    return;
  }
  const stops = Array.from({length: 9}, (_, i) => heat(mode.reversed ? 1 - i / 8 : i / 8)).join(",");
  fill(legend, el("span", {class: "soft"}, mode.label), mode.text(low), el("span", {class: "scale", style: `background:linear-gradient(to right,${stops})`}), mode.text(high));
}
