// The models of the page: arrays of few fields become objects with names.

const KIND = {node: 0, input: 1, output: 2, outer: 3};

// What an operator is for, as a number of a colour.
const CATEGORIES = [
  ["products", /^(Conv|ConvTranspose|.*Conv|ConvInteger|MatMul.*|Gemm|FusedGemm|FusedMatMul|Einsum|QLinear(Conv|MatMul)|QGemm|LSTM|GRU|RNN|.*Attention|DeformConv|DynamicQuantizeMatMul)$/],
  ["elementwise", /^(Add|Sub|Mul|Div|Pow|Sqrt|Exp|Log|Abs|Neg|Min|Max|Sum|Mean|Where|Equal|Less.*|Greater.*|And|Or|Not|Xor|Floor|Ceil|Round|Reciprocal|Mod|Sin|Cos|IsNaN|IsInf|Sign|Bit.*|QLinear(Add|Mul))$/],
  ["quantization", /^(Quantize.*|Dequantize.*|DynamicQuantize.*|Cast|CastLike|BitCast)$/],
  ["normalization", /(Norm|Normalization|LRN)/],
  ["activation", /^(Relu|LeakyRelu|PRelu|Sigmoid|Tanh|Gelu|.*Gelu|Elu|Selu|Celu|Softmax|LogSoftmax|Hard.*|Clip|Softplus|Softsign|Mish|Swish|Erf|ThresholdedRelu|Shrink)$/],
  ["control flow, functions", /^(If|Loop|Scan|Sequence.*|Optional.*)$/],
  ["pooling, reductions", /(Pool|^Reduce|^ArgM|^TopK$|^CumSum$|^NonMax|^NonZero$|^Resize$|^Upsample$|^RoiAlign$)/],
  ["other", null],
  ["shapes, layout", /^(Reshape|Transpose|Flatten|Squeeze|Unsqueeze|Concat|Split|Slice|Gather.*|Scatter.*|Shape|Size|Expand|Tile|Pad|Identity|Constant.*|Range|DepthToSpace|SpaceToDepth|OneHot|Dropout|EyeLike|Trilu)$/],
];

function categoryOf(node) {
  if (node.inner.length) return 5;
  const i = CATEGORIES.findIndex((c) => c[1] && c[1].test(node.op));
  return i < 0 ? 7 : i;
}

function readNode(raw, id) {
  const [op, name, domain, inputs, outputs, attributes, macs, bytes, inner, picture, doc] = raw;
  const node = {id, op, name, domain, inputs, outputs, attributes, macs, bytes, inner, picture, doc};
  node.category = categoryOf(node);
  return node;
}

// Who makes and who reads each value.
function connectValues(m) {
  for (const n of m.nodes) {
    if (!n) continue;
    for (const v of new Set(n.inputs)) if (v >= 0) m.values[v].readers.push(n.id);
  }
  for (const p of m.pictures) {
    for (const v of p.inputs) m.values[v].isInput = true;
    for (const v of p.outputs) m.values[v].isOutput = true;
  }
}

function readModel(raw, index) {
  const m = {...raw, index};
  m.nodes = raw.nodes.map((n, i) => n ? readNode(n, i) : null);
  m.values = raw.values.map(([name, type, producer], id) => ({id, name, type, producer, readers: []}));
  connectValues(m);
  m.isConstant = (node) => node.op === "Constant" && !node.domain && !node.outputs.some((v) => v >= 0 && m.values[v].isOutput);
  m.nodeName = (node) => node.name || (node.outputs[0] >= 0 && m.values[node.outputs[0]].name) || "#" + node.id;
  m.opName = (node) => (node.domain ? node.domain + "." : "") + node.op;
  m.weightsOf = (node) => node.inputs.filter((v) => v >= 0 && m.weights[v]);
  readProfile(m);
  m.errors = new Map((raw.sensitivity || []).map(([node, output, weight, input]) => [node, {output, weight, input}]));
  m.atPeak = new Map((raw.peak ? raw.peak.values : []).map(([value, bytes]) => [value, bytes]));
  return m;
}

// A step of a profile may compute several nodes of the model.
function readProfile(m) {
  m.steps = new Map();
  m.runTime = 0;
  for (const [us, count, nodes, op, domain, provider, kernel, bound, floor] of m.profile || []) {
    const step = {us, count, nodes, op, domain, provider, kernel, bound, floor};
    m.runTime += us;
    for (const n of nodes) if (!m.steps.has(n) || m.steps.get(n).us < us) m.steps.set(n, step);
  }
}

const models = data.models.map(readModel);

// ---- two models ----

// state: kept, changed, fused, removed, new; partners: ids in the other model.
function comparePair(before, after) {
  before.partners = new Map();
  after.partners = new Map();
  before.states = new Map();
  after.states = new Map();
  data.pairs.forEach((list, id) => {
    if (!after.nodes[id]) return;
    after.partners.set(id, list);
    for (const b of list) before.partners.set(b, (before.partners.get(b) || []).concat(id));
  });
  const same = (a, b) => a.op === b.op && a.domain === b.domain;
  for (const n of after.nodes) {
    if (!n) continue;
    const from = after.partners.get(n.id) || [];
    const drawn = from.filter((b) => !before.isConstant(before.nodes[b]));
    after.states.set(n.id, !from.length ? "new" : drawn.length > 1 ? "fused"
      : from.some((b) => same(before.nodes[b], n)) ? "kept" : "changed");
  }
  for (const n of before.nodes) {
    if (!n) continue;
    const to = before.partners.get(n.id) || [];
    before.states.set(n.id, !to.length ? "removed" : after.states.get(to[0]));
  }
}

function readLog() {
  const entry = ([pass, rule, name, node, text]) => ({pass, rule, name, node, text});
  const log = {rewrites: (data.rewrites || []).map(entry), misses: (data.near_misses || []).map(entry)};
  log.of = (node) => log.rewrites.filter((r) => r.node === node);
  log.missesOf = (node) => log.misses.filter((r) => r.node === node);
  return log;
}

const comparing = models.length === 2;
if (comparing) comparePair(models[0], models[1]);
const log = readLog();

// ---- sums ----

function drawnNodes(m) { return m.nodes.filter((n) => n && !m.isConstant(n)); }

function countOps(m) {
  const counts = new Map();
  for (const n of m.nodes) if (n && n.picture < m.pictures.length) {
    const op = m.opName(n), c = counts.get(op) || {op, n: 0, macs: 0, us: 0};
    c.n++;
    c.macs += Math.max(0, n.macs);
    c.us += m.steps.has(n.id) ? m.steps.get(n.id).us / m.steps.get(n.id).nodes.length : 0;
    counts.set(op, c);
  }
  return [...counts.values()].sort((a, b) => b.us - a.us || b.macs - a.macs || b.n - a.n || (a.op < b.op ? -1 : 1));
}

function weightBytes(m, node) { return m.weightsOf(node).reduce((sum, v) => sum + m.weights[v].bytes, 0); }

// "float" of "float[1,3]"
function elementType(type) { const i = type.indexOf("["); return i < 0 ? type || "unknown" : type.slice(0, i); }
