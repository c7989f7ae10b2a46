// What all pages share: their data, elements, numbers, theme, tooltips.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

// An element: el("td", {class: "num"}, "text", child...). Texts are never read as HTML; a function
// as attribute "onclick" listens.
function el(tag, attributes, ...children) {
  const svg = /^(svg|g|path|rect|circle|line|text|polyline|polygon|title)$/.test(tag);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}
function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

// ---- numbers ----

function scaled(n, step, units) {
  let i = 0, v = Math.abs(n);
  while (v >= step * 0.9995 && i < units.length - 1) { v /= step; i++; }
  const text = i === 0 && Number.isInteger(n) ? String(v) : v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2);
  return (n < 0 ? "\u2212" : "") + text + (units[i] ? "\u202f" + units[i] : "");
}
const format = {
  count: (n) => n.toLocaleString("en-US"),
  amount: (n) => scaled(n, 1000, ["", "k", "M", "G", "T", "P"]),
  bytes: (n) => scaled(n, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]),
  // microseconds, as traces have them
  time: (us) => us < 1 ? (us * 1000).toFixed(0) + "\u202fns" : scaled(us, 1000, ["\u00b5s", "ms", "s"]),
  percent: (share) => (share * 100).toFixed(share < 0.0995 ? 1 : 0) + "\u202f%",
  // any number in few characters
  short: (v) => typeof v !== "number" ? String(v) : Number.isInteger(v) && Math.abs(v) < 1e6 ? String(v)
    : String(Number(v.toPrecision(4))),
};

// ---- theme ----

const theme = {
  get dark() { return document.documentElement.dataset.theme === "dark"; },
  set(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    dispatchEvent(new Event("themechange"));
  },
  toggle() {
    theme.set(!theme.dark);
    try { localStorage.setItem("hone-theme", theme.dark ? "dark" : "light"); } catch (e) { /* a file without storage */ }
  },
};
(function chooseTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let kept = null;
  try { kept = localStorage.getItem("hone-theme"); } catch (e) { /* a file without storage */ }
  theme.set(kept ? kept === "dark" : system.matches);
  system.addEventListener("change", (e) => theme.set(e.matches));
})();
// The value of a colour of common.css, for a canvas: colour("--accent").
function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

// ---- colours of numbers ----

function mixHex(a, b, t) {
  const part = (c, i) => parseInt(c.slice(1 + 2 * i, 3 + 2 * i), 16);
  return "#" + [0, 1, 2].map((i) => Math.round(part(a, i) + (part(b, i) - part(a, i)) * t).toString(16).padStart(2, "0")).join("");
}
// 0: cold, 1: hot
function heat(t) {
  t = Math.min(1, Math.max(0, t));
  return t < 0.5 ? mixHex(colour("--cold"), colour("--warm"), t * 2) : mixHex(colour("--warm"), colour("--hot"), t * 2 - 1);
}
// Dark or light text on a colour "#rrggbb".
function inkOn(hex) {
  const part = (i) => parseInt(hex.slice(i, i + 2), 16) / 255;
  return 0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5) > 0.58 ? "#161b24" : "#ffffff";
}

// ---- tooltips ----

const tip = {
  box: null,
  show(x, y, ...content) {
    if (!tip.box) document.body.append(tip.box = el("div", {class: "tip", role: "tooltip", hidden: true}));
    fill(tip.box, ...content).hidden = false;
    const r = tip.box.getBoundingClientRect();
    tip.box.style.left = Math.max(6, Math.min(x + 14, innerWidth - r.width - 6)) + "px";
    tip.box.style.top = (y + 18 + r.height > innerHeight ? Math.max(6, y - r.height - 10) : y + 18) + "px";
  },
  hide() { if (tip.box) tip.box.hidden = true; },
};
// Elements with data-tip show it while the pointer is over them or they have the focus.
for (const [enter, leave] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
  document.addEventListener(enter, (e) => {
    const at = e.target.closest && e.target.closest("[data-tip]");
    if (!at) return;
    const r = at.getBoundingClientRect();
    tip.show(e.clientX || r.left, e.clientY || r.bottom - 12, at.dataset.tip);
  });
  document.addEventListener(leave, (e) => { if (e.target.closest && e.target.closest("[data-tip]")) tip.hide(); });
}
