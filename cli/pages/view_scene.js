// Places of everything that is drawn of a model: the layouts of its pictures, with room made where
// nodes are open. A scene is flat: boxes, segments and containers, with buckets of them by height.

const BOX = 40, GAP = 34, PAD = 18, HEAD = 40, BUCKET = 500, DEEPEST = 24;

// The pictures in an open node stand side by side.
function openSize(m, node, open, depth) {
  const parts = node.inner.map(([label, p]) => ({label, picture: p, placed: placePicture(m, p, open, depth + 1)}));
  const width = parts.reduce((w, p) => w + p.placed.width + PAD, PAD);
  const height = Math.max(...parts.map((p) => p.placed.height)) + HEAD + 2 * PAD + 12;
  return {parts, width, height};
}

function placePicture(m, index, open, depth) {
  const p = m.pictures[index], n = p.boxes.length / 5;
  const boxes = [], wide = new Map();
  const heights = new Float64Array(p.ranks).fill(BOX), tops = new Float64Array(p.ranks + 1);
  for (let i = 0; i < n; i++) {
    const [kind, id, rank, x, w] = p.boxes.slice(i * 5, i * 5 + 5);
    const box = {kind, id, rank, x, w, h: BOX, subtitle: p.subtitles[i]};
    if (kind === KIND.node && open.has(id) && m.nodes[id].inner.length && depth < DEEPEST) {
      box.inside = openSize(m, m.nodes[id], open, depth);
      const more = Math.max(0, box.inside.width - w);
      wide.set(rank, (wide.get(rank) || []).concat({x, more}));
      box.w = w + more;
      box.h = box.inside.height;
      heights[rank] = Math.max(heights[rank], box.h);
    }
    boxes.push(box);
  }
  for (let r = 0; r < p.ranks; r++) tops[r + 1] = tops[r] + heights[r] + GAP;
  // Open nodes push the others of their rank aside.
  const moved = (rank, x) => {
    for (const o of wide.get(rank) || []) if (o.x !== x) x += o.x < x ? o.more / 2 : -o.more / 2;
    return x;
  };
  let left = 0, right = p.width;
  for (const b of boxes) {
    if (wide.size) b.x = moved(b.rank, b.x);
    b.y = tops[b.rank];
    left = Math.min(left, b.x - b.w / 2);
    right = Math.max(right, b.x + b.w / 2);
  }
  return {index, boxes, segments: placeSegments(p, boxes, tops, heights, moved), jumps: placeJumps(p), left,
    width: right - left, height: Math.max(BOX, tops[p.ranks] - GAP)};
}

// Curves from rank to rank: x1, y1, x2, y2, value.
function placeSegments(p, boxes, tops, heights, moved) {
  const out = [], bends = p.bends, edges = p.edges, xs = [];
  const start = (before, from) => before < 0 ? [boxes[from].x, boxes[from].y + boxes[from].h]
    : [xs[before], tops[bends[before * 5 + 3]] + heights[bends[before * 5 + 3]]];
  for (let i = 0; i < bends.length; i += 5) xs.push(moved(bends[i + 3], bends[i]));
  for (let i = 0; i < bends.length; i += 5) {
    const rank = bends[i + 3], x = xs[i / 5], [x1, y1] = start(bends[i + 1], bends[i + 2]);
    out.push(x1, y1, x, tops[rank], bends[i + 4]);
    out.push(x, tops[rank], x, tops[rank] + heights[rank], bends[i + 4]);
  }
  for (let i = 0; i < edges.length; i += 4) {
    if (edges[i + 2] === -2) continue;
    const to = boxes[edges[i + 1]], [x1, y1] = start(edges[i + 2], edges[i]);
    out.push(x1, y1, to.x, to.y, edges[i + 3]);
  }
  return out;
}

function placeJumps(p) {
  const out = [];
  for (let i = 0; i < p.edges.length; i += 4) if (p.edges[i + 2] === -2) out.push([p.edges[i], p.edges[i + 1], p.edges[i + 3]]);
  return out;
}

// Moves a placed picture, and those inside it, into the scene.
function addToScene(s, m, placed, x, y, depth) {
  x -= placed.left;
  for (const b of placed.boxes) {
    b.x += x;
    b.y += y;
    b.depth = depth;
    s.boxes.push(b);
    if (b.kind === KIND.node) s.boxOf.set(b.id, b);
    else s.boxOfValue.set(placed.index + ":" + b.kind + ":" + b.id, b);
    if (!b.inside) continue;
    s.containers.push(b);
    let at = b.x - b.w / 2 + PAD;
    for (const part of b.inside.parts) {
      part.x = at;
      part.y = b.y + HEAD + PAD;
      addToScene(s, m, part.placed, at, part.y + 12, depth + 1);
      at += part.placed.width + PAD;
    }
  }
  for (let i = 0; i < placed.segments.length; i += 5) {
    s.segments.push(placed.segments[i] + x, placed.segments[i + 1] + y, placed.segments[i + 2] + x,
      placed.segments[i + 3] + y, placed.segments[i + 4]);
  }
  for (const [from, to, value] of placed.jumps) s.jumps.push({from: placed.boxes[from], to: placed.boxes[to], value});
}

function makeScene(m, open) {
  const s = {boxes: [], segments: [], jumps: [], containers: [], boxOf: new Map(), boxOfValue: new Map()};
  const placed = placePicture(m, 0, open, 0);
  addToScene(s, m, placed, 0, 0, 0);
  s.width = placed.width;
  s.height = placed.height;
  s.buckets = Array.from({length: Math.floor(s.height / BUCKET) + 1}, () => ({boxes: [], segments: []}));
  const at = (y) => Math.max(0, Math.min(s.buckets.length - 1, Math.floor(y / BUCKET)));
  s.boxes.forEach((b, i) => { b.index = i; for (let k = at(b.y); k <= at(b.y + BOX); k++) s.buckets[k].boxes.push(b); });
  for (let i = 0; i < s.segments.length; i += 5)
    for (let k = at(s.segments[i + 1]); k <= at(s.segments[i + 3]); k++) s.buckets[k].segments.push(i);
  s.range = (top, bottom) => [at(top), at(bottom)];
  return s;
}

// The open nodes that a node is inside of, from the outside in.
function ownersOf(m, node) {
  const owners = [];
  let p = node.picture;
  while (m.pictures[p]) {
    const owner = m.pictures[p].owner >= 0 ? m.nodes[m.pictures[p].owner]
      : m.pictures[p].function ? m.nodes.find((n) => n && n.inner.some(([, k]) => k === p) && n.picture !== p) : null;
    if (!owner || owners.includes(owner)) break;
    owners.unshift(owner);
    p = owner.picture;
  }
  return owners;
}
