// Search: words that a node's name, operator, types or values contain; "op:", "name:" and "shape:"
// look in one place only. Sizes may be written 64x3x7x7 or 64,3,7,7.

function readQuery(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const at = /^(op|name|shape|type):(.*)$/.exec(word);
    const what = at ? at[1] : "", rest = at ? at[2] : word;
    const isShape = what === "shape" || /^[\w?]+([x\u00d7][\w?]+)+$/.test(rest) && /\d/.test(rest);
    return {what, text: isShape ? rest.replace(/(?<=[\w?])[x\u00d7](?=[\w?])/g, ",") : rest, plain: rest};
  });
}

function textsOf(m, n) {
  if (n.texts) return n.texts;
  const own = [n.name, ...n.outputs.filter((v) => v >= 0).map((v) => m.values[v].name)].join("\n").toLowerCase();
  const ids = [...n.inputs, ...n.outputs].filter((v) => v >= 0);
  return n.texts = {op: m.opName(n).toLowerCase(), name: own, shape: ids.map((v) => m.values[v].type).join("\n").toLowerCase(),
    weights: m.weightsOf(n).map((v) => m.values[v].name).join("\n").toLowerCase()};
}

function isMatch(m, n, words) {
  const t = textsOf(m, n);
  return words.every((w) => w.what === "op" ? t.op === w.text || (t.op.includes(w.text) && !CATALOGUE.has(w.text))
    : w.what === "name" ? t.name.includes(w.text)
    : w.what === "shape" || w.what === "type" ? t.shape.includes(w.text)
    : t.op.includes(w.plain) || t.name.includes(w.plain) || t.shape.includes(w.text) || t.weights.includes(w.plain));
}

// "op:relu" means Relu where there is one, and not LeakyRelu.
const CATALOGUE = new Set(models.flatMap((m) => m.nodes.filter(Boolean).map((n) => m.opName(n).toLowerCase())));

// All matches, main graphs first: {model, node}. Constants stand for what reads them.
function findNodes(text) {
  const words = readQuery(text), out = [];
  if (!words.length) return out;
  for (const m of models) for (const n of m.nodes) if (n && isMatch(m, n, words)) out.push({model: m, node: n});
  return out;
}

function showHits(hits, current) {
  const list = byId("hits");
  list.hidden = !hits.length;
  fill(list, hits.slice(0, 200).map((h, i) => el("li", {role: "option", "aria-selected": String(i === current), onclick: () => view.choose(i)},
    el("span", {class: "op"}, h.model.opName(h.node)), el("span", {class: "soft"}, h.model.nodeName(h.node)), comparing ? el("span", {class: "where faint"}, h.model.index ? "after" : "before") : null)));
  const at = list.children[current];
  if (at) at.scrollIntoView({block: "nearest"});
}
