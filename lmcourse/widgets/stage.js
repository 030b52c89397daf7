// The front end of every widget: models, words, drawing, controls, frame. Plain modern JavaScript, no library, no
// network. Everything above "frame" is pure or only builds nodes, and is compared with Python by the tests.

// ------------------------------------------------------------------------------------------------ words

const PLACE = /\{(\w+)(?::([^|{}]*)\|([^{}]*))?\}/g;

const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** Put values into a template: fill("{n:token|tokens}", {n: 1}) is "1 token". */
export function fill(template, values) {
  return template.replace(PLACE, (_, name, one, many) => {
    const value = values[name];
    const shown = Number.isInteger(value) ? grouped(value) : String(value);
    return one === undefined ? shown : `${shown} ${value === 1 ? one : many}`;
  });
}

export function percent(part, whole) {
  const tenths = whole ? Math.floor((2000 * part + whole) / (2 * whole)) : 0;
  return `${Math.floor(tenths / 10)}.${tenths % 10}\u00a0%`;
}

export function decimal(value, digits) {
  if (Number.isNaN(value)) return "–";
  const scale = 10 ** digits;
  const scaled = Math.floor(value * scale + 0.5);
  return `${Math.floor(scaled / scale)}.${String(scaled % scale).padStart(digits, "0")}`;
}

// ------------------------------------------------------------------------------------------------ random numbers

/** One 32-bit word for a seed and a counter; the same words as lmcourse.toys.hashing. */
export function hashed(seed, counter) {
  let x = (Math.imul(seed, 0x9e3779b9) + Math.imul(counter, 0x85ebca6b) + 0x6a09e667) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

const uniform = (seed, counter) => (hashed(seed, counter) + 0.5) / 2 ** 32;

const normal = (seed, i) =>
  Math.sqrt(-2 * Math.log(uniform(seed, 2 * i))) * Math.cos(2 * Math.PI * uniform(seed, 2 * i + 1));

const range = (n) => Array.from({ length: n }, (_, i) => i);
const sum = (values) => values.reduce((a, b) => a + b, 0);
const triangle = (n) => (n * (n + 1)) / 2;

// ------------------------------------------------------------------------------------------------ packing: model

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const [FUTURE, ALLOWED, BLOCKED, CROSSING, PADDING] = range(5);

export function parseDocuments(text) {
  const found = { letters: [], lengths: [], problem: "", item: "" };
  const complain = (problem, item) => {
    if (!found.problem) Object.assign(found, { problem, item });
  };
  for (const part of text.split(/[\s,;]+/).filter(Boolean)) {
    const match = /^(?:([A-Za-z]):)?([0-9]{1,6})$/.exec(part);
    if (!match) {
      complain("bad", part);
      continue;
    }
    const free = [...LETTERS].find((letter) => !found.letters.includes(letter)) ?? "";
    const letter = (match[1] ?? free).toUpperCase();
    if (!free) complain("many", part);
    else if (found.letters.includes(letter)) complain("twice", letter);
    else if (Number(match[2]) > 200) complain("long", part);
    else {
      found.letters.push(letter);
      found.lengths.push(Number(match[2]));
    }
  }
  if (!found.letters.length) complain("none", "");
  return found;
}

export function randomDocuments(seed) {
  const count = 3 + (hashed(seed, 0) % 4);
  return range(count).map((k) => `${LETTERS[k]}:${1 + (hashed(seed, k + 1) % 14)}`).join(" ");
}

function layOut(lengths, window, mode, strategy) {
  const pieces = lengths.flatMap((length, doc) =>
    range(Math.max(1, Math.ceil(length / window))).map((k) => [doc, k * window, Math.min((k + 1) * window, length)]),
  );
  let rows;
  if (mode === "pad") rows = pieces.map((piece) => (piece[2] ? [piece] : []));
  else if (strategy === "best fit") rows = bestFit(pieces.filter((piece) => piece[2]), window);
  else rows = cutAnywhere(lengths, window);
  return rows.length ? rows : [[]];
}

function cutAnywhere(lengths, window) {
  const rows = [];
  let room = 0;
  lengths.forEach((length, doc) => {
    for (let start = 0; start < length; ) {
      if (!room) {
        rows.push([]);
        room = window;
      }
      const stop = Math.min(length, start + room);
      rows[rows.length - 1].push([doc, start, stop]);
      room -= stop - start;
      start = stop;
    }
  });
  return rows;
}

function bestFit(pieces, window) {
  const rows = [];
  const rooms = [];
  for (const piece of [...pieces].sort((a, b) => b[2] - b[1] - (a[2] - a[1]))) {
    const size = piece[2] - piece[1];
    let best = -1;
    rooms.forEach((room, r) => {
      if (room >= size && (best < 0 || room < rooms[best])) best = r;
    });
    if (best < 0) {
      best = rows.push([]) - 1;
      rooms.push(window);
    }
    rows[best].push(piece);
    rooms[best] -= size;
  }
  return rows;
}

export function viewPacking(lengths, { window, mode, strategy, eos, reset, row, selected }) {
  const closed = lengths.map((n) => n + Number(eos));
  const rows = layOut(closed, window, mode, strategy);
  row = Math.min(row, rows.length - 1);
  const blank = () => new Array(window).fill(0);
  const view = { row, selected: Math.min(selected, window - 1), doc: blank().fill(-1), offset: blank() };
  Object.assign(view, { eos: blank(), position: blank(), keep: blank() });
  let slot = 0;
  for (const [doc, start, stop] of rows[row]) {
    for (let offset = start; offset < stop; offset++, slot++) {
      const last = closed[doc] - 1;
      view.doc[slot] = doc;
      view.offset[slot] = offset;
      view.position[slot] = reset ? offset - start : slot;
      view.eos[slot] = Number(eos && offset === last);
      view.keep[slot] = Number(offset < last);
    }
  }
  const masked = mode !== "pack";
  const code = (q, k) => {
    if (k > q) return FUTURE;
    if (view.doc[q] < 0 || view.doc[k] < 0) return PADDING;
    if (view.doc[q] === view.doc[k]) return ALLOWED;
    return masked ? BLOCKED : CROSSING;
  };
  view.codes = range(window).map((q) => range(window).map((k) => code(q, k)));
  view.visible = range(window).filter((k) => [ALLOWED, CROSSING].includes(view.codes[view.selected][k]));
  const sizes = rows.map((pieces) => pieces.map(([, start, stop]) => stop - start));
  const tokens = sum(sizes.map(sum));
  const within = sum(sizes.flat().map(triangle));
  const pairs = masked ? within : sum(sizes.map((row) => triangle(sum(row))));
  const homes = closed.map((_, doc) => rows.filter((pieces) => pieces.some((piece) => piece[0] === doc)).length);
  view.totals = {
    rows: rows.length,
    slots: rows.length * window,
    tokens,
    pairs,
    crossing: pairs - within,
    kept: tokens - closed.filter((length) => length > 0).length,
    documents: closed.length,
    cut: homes.filter((home) => home > 1).length,
  };
  return view;
}

export function averages(tokens, losses) {
  const total = sum(tokens);
  return [total ? sum(tokens.map((n, i) => n * losses[i])) / total : NaN, sum(losses) / losses.length];
}

// ------------------------------------------------------------------------------------------------ packing: words

const listed = (names) => (names.length <= 6 ? names : [...names.slice(0, 3), "…", ...names.slice(-2)]).join(" ");

export function describePacking(params, text) {
  const documents = parseDocuments(params.documents);
  const view = viewPacking(documents.lengths, params);
  const { totals } = view;
  const i = view.selected;
  const names = view.doc.map((d, k) =>
    d < 0 ? text.padding : documents.letters[d] + (view.eos[k] ? "-eos" : view.offset[k]),
  );
  let sees = fill(text["sees.padding"], { index: i });
  let readout = `${sees} ${text["readout.padding"]}`;
  if (view.doc[i] >= 0) {
    sees = fill(text.sees, {
      index: i,
      letter: documents.letters[view.doc[i]],
      position: view.position[i],
      count: view.visible.length,
      names: listed(view.visible.map((k) => names[k])),
    });
    const crossing = view.codes[i].filter((code) => code === CROSSING).length;
    const leak = crossing ? [fill(text["readout.crossing"], { count: crossing })] : [];
    readout = [sees, ...leak, text[view.keep[i] ? "readout.kept" : "readout.lost"]].join(" ");
  }
  const cross = percent(totals.crossing, totals.pairs);
  const use = percent(totals.tokens, totals.slots);
  const words = { row: view.row, rows: totals.rows, mode: text[`words.${params.mode}`] };
  const shown = documents.letters.map((letter, d) => `${letter}:${documents.lengths[d]}`);
  const some = shown.slice(0, 6).join(" ") || "–";
  const size = Math.min(16, params.window);
  const [perToken, ofMeans] = averages(
    [params.first_tokens, params.second_tokens],
    [params.first_loss, params.second_loss],
  );
  return {
    view,
    names,
    letters: documents.letters,
    limits: { row: totals.rows - 1, selected: params.window - 1 },
    effective: { row: view.row, selected: i },
    off: params.mode === "pad" ? ["strategy"] : [],
    perToken: decimal(perToken, 2),
    ofMeans: decimal(ofMeans, 2),
    readout,
    caption: fill(text.caption, words),
    alt: fill(text.alt, {
      ...words,
      window: params.window,
      documents: shown.length <= 6 ? some : fill(text.more, { shown: some, count: shown.length - 6 }),
      sees,
      cross,
      use,
      kept: totals.kept,
    }),
    numbers: [
      [text["number.use"], use],
      [text["number.padding"], fill(text["value.tokens"], { count: totals.slots - totals.tokens })],
      [text["number.crossing"], cross],
      [text["number.cut"], fill(text["value.of"], { part: totals.cut, whole: totals.documents })],
      [text["number.kept"], fill(text["value.of"], { part: totals.kept, whole: totals.tokens })],
      [text["number.rows"], String(totals.rows)],
    ],
    gridCaption: fill(text.grid, { size }),
    grid: [
      [text["grid.corner"], ...names.slice(0, size)],
      ...range(size).map((q) => [names[q], ...view.codes[q].slice(0, size).map((code) => text[`cell.${code}`])]),
    ],
    problems: documents.problem
      ? { documents: fill(text[`problem.${documents.problem}`], { item: documents.item }) }
      : {},
  };
}

// ------------------------------------------------------------------------------------------------ waste: model

const DOCUMENTS = 512;
const ROW_LENGTHS = range(33).map((k) => Math.floor(2 ** ((k + 16) / 4) + 0.5));
const BIN_EDGES = range(27).map((k) => 2 ** (k / 2));
const CURVES = ["padded", "bucketed", "crossing", "cut"];

export function drawLengths(mean, spread, seed) {
  const middle = Math.log(mean) - (spread * spread) / 2;
  return range(DOCUMENTS).map((i) =>
    Math.min(8192, Math.max(1, Math.floor(Math.exp(middle + spread * normal(seed, i)) + 0.5))),
  );
}

export function measureWaste(lengths, rowLength, batch) {
  const pieces = [];
  let tokens = 0;
  let cut = 0;
  let within = 0;
  for (const length of lengths) {
    for (let rest = length; rest > 0; rest -= rowLength) pieces.push(Math.min(rest, rowLength));
    const stop = tokens + length;
    if (Math.floor(tokens / rowLength) !== Math.floor((stop - 1) / rowLength)) cut++;
    for (let start = tokens; start < stop; ) {
      const end = Math.min(stop, (Math.floor(start / rowLength) + 1) * rowLength);
      within += triangle(end - start);
      start = end;
    }
    tokens = stop;
  }
  pieces.sort((a, b) => b - a);
  let bucketed = 0;
  for (let i = 0; i < pieces.length; i += batch) bucketed += pieces[i] * Math.min(batch, pieces.length - i);
  const pairs = Math.floor(tokens / rowLength) * triangle(rowLength) + triangle(tokens % rowLength);
  return {
    tokens,
    padded_slots: pieces.length * rowLength,
    bucketed_slots: bucketed,
    pairs,
    crossing: pairs - within,
    cut,
    documents: lengths.length,
  };
}

export const wasteShares = (w) => [
  1 - w.tokens / w.padded_slots,
  1 - w.tokens / w.bucketed_slots,
  w.crossing / w.pairs,
  w.cut / w.documents,
];

export function lengthHistogram(lengths) {
  const bins = new Array(BIN_EDGES.length - 1).fill(0);
  for (const length of lengths) {
    let bin = 0;
    while (bin < bins.length - 1 && length >= BIN_EDGES[bin + 1]) bin++;
    bins[bin]++;
  }
  return bins;
}

// ------------------------------------------------------------------------------------------------ waste: words

const shareWords = (w) => ({
  padded: percent(w.padded_slots - w.tokens, w.padded_slots),
  bucketed: percent(w.bucketed_slots - w.tokens, w.bucketed_slots),
  crossing: percent(w.crossing, w.pairs),
  cut: percent(w.cut, w.documents),
});

export function describeWaste(params, text) {
  const lengths = drawLengths(params.mean, params.spread, params.seed);
  const waste = measureWaste(lengths, params.row_length, params.batch);
  const sweep = ROW_LENGTHS.map((row) => measureWaste(lengths, row, params.batch));
  const shares = shareWords(waste);
  const words = { row_length: params.row_length, ...shares };
  const longest = Math.max(...lengths);
  return {
    waste,
    shares: sweep.map(wasteShares),
    here: wasteShares(waste),
    histogram: lengthHistogram(lengths),
    limits: {},
    effective: {},
    off: [],
    readout: fill(text.readout, words),
    caption: fill(text.caption, { documents: DOCUMENTS }),
    alt: fill(text.alt, { ...words, mean: params.mean, spread: decimal(params.spread, 2) }),
    numbers: [
      ...CURVES.map((curve) => [text[`number.${curve}`], shares[curve]]),
      [
        text["number.mean"],
        fill(text["value.tokens"], { count: Math.floor((2 * waste.tokens + DOCUMENTS) / (2 * DOCUMENTS)) }),
      ],
      [text["number.longest"], fill(text["value.tokens"], { count: longest })],
    ],
    gridCaption: text.grid,
    grid: [
      [text["grid.corner"], ...CURVES.map((curve) => text[`curve.${curve}`])],
      ...range(9).map((k) => {
        const column = shareWords(sweep[4 * k]);
        return [grouped(ROW_LENGTHS[4 * k]), ...CURVES.map((curve) => column[curve].replace("\u00a0%", ""))];
      }),
    ],
    problems: {},
  };
}

// ------------------------------------------------------------------------------------------------ nodes

const SVG = "http://www.w3.org/2000/svg";
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
const FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif";
// Every widget on a page loads this module anew, so a counter alone would give two widgets the same ids.
const HERE = `lmc${Math.random().toString(36).slice(2, 10)}`;
let serial = 0;
const fresh = () => `${HERE}-${++serial}`;

/** An HTML element; attributes that start with "on" are listeners, strings become text, never markup. */
function h(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

function s(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat());
  return node;
}

function label(x, y, words, options = {}) {
  return s("text", { x, y, "dominant-baseline": "central", "font-size": 12, ...options }, words);
}

const box = (x, y, width, height, options = {}) => s("rect", { x, y, width, height, ...options });

const line = (points, options) =>
  s("path", { d: "M" + points.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L"), fill: "none", ...options });

/** Black or white, whichever is easier to read on a color (WCAG contrast). */
function inkOn(color) {
  const light = [1, 3, 5].map((i) => {
    const c = parseInt(color.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "#000000" : "#ffffff";
}

/** First and behind-last index of each stretch of equal values. */
function runs(values) {
  const found = [];
  values.forEach((value, i) => {
    if (i && value === values[i - 1]) found[found.length - 1][1] = i + 1;
    else found.push([i, i + 1]);
  });
  return found;
}

function canvasFor(width, height, look, alt) {
  const attributes = { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": alt };
  return s("svg", { ...attributes, "font-family": FONT, fill: look.text });
}

// ------------------------------------------------------------------------------------------------ packing: picture

const ROOM_FOR_LETTER = 15; // px: a cell at least this wide holds its own letter and position

/** Geometry shared by drawing and pointing. Without room, the strip is the matrix's own header. */
function packingPlaces(width, window) {
  const wide = width >= 560;
  const left = wide ? 78 : 15;
  const side = Math.min(320, width - left - 1);
  const strip = wide ? 64 : left;
  const slot = wide ? Math.min(22, (width - strip - 4) / window) : side / window;
  return { wide, strip, left, side, slot, top: wide ? 78 : 62, cell: side / window };
}

function drawPacking(width, height, d, params, look, text) {
  const svg = canvasFor(width, height, look, d.alt);
  const id = fresh();
  const pattern = (name, path, stroke, weight) =>
    s(
      "pattern",
      { id: `${id}${name}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
      s("path", { d: path, stroke, "stroke-width": weight }),
    );
  svg.append(
    s(
      "defs",
      {},
      pattern("other", "M-1 7L7 -1M-2 2L2 -2M4 8L8 4", look.neutral, 0.9),
      pattern("leak", "M0 0L6 6M6 0L0 6", look.alarm, 1.1),
    ),
  );
  const scene = {
    svg,
    ...{ width, d, params, look, text },
    ...packingPlaces(width, params.window),
    color: (doc) => look.series[doc % look.series.length],
    other: `url(#${id}other)`,
    leak: `url(#${id}leak)`,
  };
  drawStrip(scene);
  drawMatrix(scene);
  drawPackingNumbers(scene);
  return svg;
}

/** Tokens by document, position ids (digits, or a ramp where cells are small), dots for predictions that count. */
function drawStrip({ svg, d, look, text, color, wide, strip, slot, top }) {
  const { view, letters } = d;
  if (wide) {
    for (const [key, arrow, y] of [
      ["strip.token", "", 14],
      ["strip.position", "", 35],
      ["strip.keep", "", 52],
      ["axis.key", " →", top - 7],
      ["axis.query", " ↓", top + 8],
    ]) {
      svg.append(label(strip - 8, y, text[key] + arrow, { "text-anchor": "end" }));
    }
  }
  const roomy = slot >= ROOM_FOR_LETTER;
  for (const [first, stop] of runs(view.doc)) {
    const doc = view.doc[first];
    const x = strip + first * slot;
    const long = (stop - first) * slot;
    if (doc < 0) {
      svg.append(box(x + 0.5, 4.5, long - 1, 19, { fill: "none", stroke: look.neutral }));
      continue;
    }
    const ink = inkOn(color(doc));
    svg.append(box(x, 4, long, 20, { fill: color(doc) }));
    for (let i = first; i < stop; i++) {
      const middle = strip + (i + 0.5) * slot;
      if (i > first) svg.append(box(middle - slot / 2 - 0.5, 4, 1, 20, { fill: look.background }));
      if (view.eos[i]) svg.append(box(middle - 2.5, 11.5, 5, 5, { fill: ink }));
      else if (roomy) svg.append(centered(middle, 14, letters[doc], ink));
      const position = view.position[i];
      if (roomy) svg.append(label(middle, 35, String(position), { "text-anchor": "middle", "font-size": 11 }));
      else {
        const tall = 1 + (12 * position) / Math.max(view.doc.length - 1, 1);
        svg.append(box(middle - slot / 2 + 0.5, 42 - tall, Math.max(slot - 1, 1), tall, { fill: look.neutral }));
      }
      if (view.keep[i]) svg.append(s("circle", { cx: middle, cy: 52, r: Math.min(2.6, slot * 0.3) }));
    }
    if (!roomy && long >= 10) svg.append(centered(x + long / 2, 14, letters[doc], ink));
  }
  svg.append(...framed(strip + view.selected * slot, 2, slot, 57, look.text, look));
}

/** The mask, query down and key across, with the documents along its edges and the selected query framed. */
function drawMatrix({ svg, d, look, color, other, leak, wide, left, top, side, cell }) {
  const { view, letters } = d;
  for (const [first, stop] of runs(view.doc)) {
    const doc = view.doc[first];
    const long = (stop - first) * cell;
    const face = doc < 0 ? { fill: "none", stroke: look.neutral } : { fill: color(doc) };
    svg.append(box(left - 13, top + first * cell, 11, long, face));
    if (wide) svg.append(box(left + first * cell, top - 13, long, 11, face));
    if (doc >= 0 && long >= 11) {
      const middle = ((first + stop) / 2) * cell;
      svg.append(centered(left - 7.5, top + middle, letters[doc], inkOn(color(doc)), 11));
      if (wide) svg.append(centered(left + middle, top - 7.5, letters[doc], inkOn(color(doc)), 11));
    }
  }
  const dots = [];
  view.codes.forEach((row, q) => {
    const faces = { [ALLOWED]: color(view.doc[q]), [BLOCKED]: other, [CROSSING]: leak, [PADDING]: look.grid };
    for (const [first, stop] of runs(row)) {
      const code = row[first];
      if (code === FUTURE) continue;
      svg.append(box(left + first * cell, top + q * cell, (stop - first) * cell, cell, { fill: faces[code] }));
      if (code !== PADDING) continue;
      for (let k = first; k < stop; k++) dots.push(`M${left + (k + 0.5) * cell} ${top + (q + 0.5) * cell}h0`);
    }
  });
  svg.append(s("path", { d: dots.join(""), stroke: look.neutral, "stroke-width": 1.6, "stroke-linecap": "round" }));
  const grid = view.doc.map(
    (_, k) =>
      `M${left} ${top + k * cell}h${k * cell}` +
      `M${left + k * cell} ${top + Math.max(k - 1, 0) * cell}V${top + side}`,
  );
  svg.append(s("path", { d: grid.join(""), stroke: look.background, "stroke-width": 0.8, fill: "none" }));
  svg.append(box(left - 0.5, top - 0.5, side + 1, side + 1, { fill: "none", stroke: look.neutral }));

  const q = view.selected;
  const empty = !view.visible.length;
  svg.append(...framed(left, top + q * cell, (q + 1) * cell, cell, empty ? look.alarm : look.text, look));
  if (empty) {
    const x = Math.min(left + (q + 1) * cell + 6, left + side - 52);
    const y = Math.min(Math.max(top + (q + 0.5) * cell, top + 9), top + side - 9);
    const halo = { stroke: look.background, "stroke-width": 3, "paint-order": "stroke" };
    svg.append(label(x, y, "✕ NaN", { fill: look.alarm, "font-weight": 700, ...halo }));
  }
}

/** A frame that can be seen on any color: a line with a halo. */
const framed = (x, y, width, height, stroke, look) => [
  box(x, y, width, height, { fill: "none", stroke: look.background, "stroke-width": 4.5 }),
  box(x, y, width, height, { fill: "none", stroke, "stroke-width": 2 }),
];

const centered = (x, y, words, fill, size = 12) =>
  label(x, y, words, { "text-anchor": "middle", fill, "font-size": size, "font-weight": 700 });

/** Numbers and the key to the cells: beside the matrix, or in its empty upper half where there is no room. */
function drawPackingNumbers({ svg, width, d, look, text, color, other, leak, wide, left, top, side }) {
  const room = width - left - side;
  const beside = room >= 165;
  const alarm = (name) => d.view.totals.crossing > 0 && name === text["number.crossing"];
  const bold = (name) => ({ "font-weight": 700, fill: alarm(name) ? look.alarm : look.text });
  const faces = [color(Math.max(d.view.doc[0], 0)), other, leak, look.grid];
  const sample = (x, y, k) => {
    svg.append(box(x + 0.5, y - 6.5, 14, 13, { fill: faces[k], stroke: k === 2 ? look.alarm : look.neutral }));
    const dots = { stroke: look.neutral, "stroke-width": 1.8, "stroke-linecap": "round" };
    if (k === 3) svg.append(s("path", { d: `M${x + 5} ${y}h0m5 0h0`, ...dots }));
  };
  const x = left + side + (beside ? 24 : -6);
  let y = wide ? top - 6 : top + 10;
  // Inside the matrix the longest goes first, where its upper half is widest; the row control tells the rows.
  const length = ([name, value]) => name.length + value.length;
  const inside = () => d.numbers.slice(0, -1).sort((a, b) => length(b) - length(a));
  for (const [name, value] of beside ? d.numbers : inside()) {
    const shown = (alarm(name) ? "✕ " : "") + value;
    if (beside) {
      svg.append(label(x, y, name), label(x, y + 16, shown, { ...bold(name), "font-size": 15 }));
      y += 38;
    } else {
      const both = label(x, y, `${name}  `, { "text-anchor": "end", "font-size": 11 });
      both.append(s("tspan", bold(name), shown));
      svg.append(both);
      y += 14;
    }
  }
  y += beside ? 8 : 4;
  faces.forEach((_, k) => {
    const words = room >= 190 ? text[`legend.${k + 1}`] : text[`legend.${k + 1}`].split(":")[0];
    sample(beside ? x : x - 15, y, k);
    if (beside) svg.append(label(x + 22, y, words));
    else svg.append(label(x - 22, y, words, { "text-anchor": "end", "font-size": 11 }));
    y += beside ? 19 : 15;
  });
  const more = (key, mark) => {
    svg.append(mark(beside ? x + 7 : x - 7, y));
    const at = beside ? { x: x + 22 } : { x: x - 22, "text-anchor": "end", "font-size": 11 };
    svg.append(label(at.x, y, text[key], at));
    y += 14;
  };
  more("legend.eos", (x, y) => box(x - 2.5, y - 2.5, 5, 5, {}));
  if (wide) return;
  more("strip.position", (x, y) => s("path", { d: `M${x - 7} ${y + 4}h14v-9z`, fill: look.neutral }));
  more("strip.keep", (x, y) => s("circle", { cx: x, cy: y, r: 2.6 }));
}

/** The cell under the pointer, as a query and a key; the query alone over the strip. */
function pointPacking(x, y, width, params) {
  const { strip, left, top, cell, slot, side } = packingPlaces(width, params.window);
  if (y < 60) {
    const query = Math.floor((x - strip) / slot);
    return query >= 0 && query < params.window ? { query } : null;
  }
  const [query, key] = [Math.floor((y - top) / cell), Math.floor((x - left) / cell)];
  return x >= left && y >= top && x < left + side && y < top + side ? { query, key } : null;
}

// ------------------------------------------------------------------------------------------------ waste: picture

function drawWaste(width, height, d, params, look, text) {
  const svg = canvasFor(width, height, look, d.alt);
  const named = width >= 440; // room for names at the ends of the curves
  const [left, right] = [56, width - (named ? 112 : 20)];
  const [upper, upperEnd, lower, lowerEnd] = [12, 78, 100, height - 44];
  const x = (tokens) => left + ((right - left) * (Math.log2(tokens) - 4)) / 8;
  const y = (share) => lowerEnd - (lowerEnd - lower) * share;
  const most = Math.max(...d.histogram, 1);
  const thin = { stroke: look.grid, "stroke-width": 1 };
  range(9).forEach((k) => {
    const tick = 2 ** (k + 4);
    svg.append(line([[x(tick), lower], [x(tick), lowerEnd]], thin));
    if (named || k % 2 === 0) svg.append(label(x(tick), lowerEnd + 14, grouped(tick), { "text-anchor": "middle" }));
  });
  range(6).forEach((k) => {
    svg.append(line([[left, y(k / 5)], [right, y(k / 5)]], thin));
    svg.append(label(left - 8, y(k / 5), String(20 * k), { "text-anchor": "end" }));
  });
  const bottom = { stroke: look.neutral, "stroke-width": 1 };
  d.histogram.forEach((count, k) => {
    const [from, to] = [BIN_EDGES[k], BIN_EDGES[k + 1]].map((edge) => x(Math.min(Math.max(edge, 16), 4096)));
    const tall = ((upperEnd - upper) * count) / most;
    const face = { fill: look.neutral, "fill-opacity": 0.75 };
    if (to > from && count) svg.append(box(from + 0.5, upperEnd - tall, to - from - 1, tall, face));
  });
  svg.append(line([[left, upperEnd], [right, upperEnd]], bottom), line([[left, lowerEnd], [right, lowerEnd]], bottom));
  svg.append(line([[left, lower], [left, lowerEnd]], bottom));
  svg.append(label(left - 8, upper + 2, String(most), { "text-anchor": "end" }));
  svg.append(label(left - 8, upperEnd, "0", { "text-anchor": "end" }));
  svg.append(turned(14, (upper + upperEnd) / 2, text["axis.documents"]));
  svg.append(turned(14, (lower + lowerEnd) / 2, text["axis.y"]));
  const axis = text[named ? "axis.x" : "axis.x.short"];
  svg.append(label((left + right) / 2, height - 10, axis, { "text-anchor": "middle" }));

  const here = x(params.row_length);
  svg.append(line([[here, upper], [here, lowerEnd]], { stroke: look.text, "stroke-width": 1.2 }));
  const ends = [];
  CURVES.forEach((curve, k) => {
    if (!params.shown.includes(curve)) return;
    const points = ROW_LENGTHS.map((row, r) => [x(row), y(d.shares[r][k])]);
    const stroke = { stroke: look.series[k], "stroke-width": 2, "stroke-dasharray": DASHES[k] };
    svg.append(line(points, { ...stroke, "stroke-linejoin": "round" }));
    svg.append(marker(k, here, y(d.here[k]), look.series[k], look.background));
    ends.push({ height: y(d.shares.at(-1)[k]), words: text[`curve.${curve}`], fill: look.series[k] });
  });
  let highest = Infinity;
  for (const end of ends.sort((a, b) => b.height - a.height)) {
    highest = Math.min(end.height, highest - 15);
    if (named) svg.append(label(right + 7, highest, end.words, { "font-weight": 600 }));
  }
  return svg;
}

const turned = (x, y, words) =>
  label(x, y, words, { "text-anchor": "middle", transform: `rotate(-90 ${x} ${y})` });

function marker(k, x, y, fill, edge) {
  const shapes = [
    `M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0`,
    `M${x - 4.5} ${y - 4.5}h9v9h-9z`,
    `M${x} ${y - 5.5}l5.5 10h-11z`,
    `M${x} ${y - 6}l6 6l-6 6l-6 -6z`,
  ];
  return s("path", { d: shapes[k], fill, stroke: edge, "stroke-width": 1 });
}

/** A short sample of a curve, for its toggle button. */
function curveSample(k, look) {
  const svg = s("svg", { width: 34, height: 14, "aria-hidden": "true" });
  svg.append(line([[1, 7], [33, 7]], { stroke: look.series[k], "stroke-width": 2, "stroke-dasharray": DASHES[k] }));
  svg.append(marker(k, 17, 7, look.series[k], look.background));
  return svg;
}

// ------------------------------------------------------------------------------------------------ denominator

export function describeDenominator(params, text) {
  const tokens = [params.first_tokens, params.second_tokens];
  const losses = [params.first_loss, params.second_loss];
  const total = sum(tokens);
  const weights = [tokens.map(() => 1 / total), tokens.map((n) => 1 / (2 * n))];
  const means = weights.map((row) => sum(row.map((w, k) => w * tokens[k] * losses[k])));
  const [token, example] = means.map((mean) => decimal(mean, 2));
  const [short, long] = tokens[0] <= tokens[1] ? "AB" : "BA";
  const times = decimal(Math.max(...tokens) / Math.min(...tokens), 1);
  const equal = tokens[0] === tokens[1];
  const ratio = fill(text[equal ? "ratio.equal" : "ratio.unequal"], { short, long, times });
  const words = { token, example, ratio };
  const share = percent(tokens[0], total);
  const [first, second] = losses.map((loss) => decimal(loss, 1));
  return {
    weights,
    means,
    shares: [tokens.map((n) => percent(n, total)), ["A", "B"].map(() => percent(1, 2))],
    limits: {},
    effective: {},
    off: [],
    readout: fill(text.readout, words),
    caption: text.caption,
    alt: fill(text.alt, { ...words, share, first, second, count: tokens[0], other: tokens[1] }),
    numbers: [
      [text["number.token"], token],
      [text["number.example"], example],
      [text["number.share"], share],
      [text["number.times"], decimal(tokens[1] / tokens[0], 3)],
    ],
    gridCaption: text.grid,
    grid: [
      [text["grid.corner"], "A", "B"],
      ...["token", "example"].map((name, k) => [text[`objective.${name}`], ...weights[k].map((w) => decimal(w, 4))]),
    ],
    problems: {},
  };
}

function drawDenominator(width, height, d, params, look, text) {
  const svg = canvasFor(width, height, look, d.alt);
  const tokens = [params.first_tokens, params.second_tokens];
  const total = sum(tokens);
  const [left, right, tall] = [64, width - 12, (height - 150) / 2];
  const most = Math.max(...d.weights.flat());
  const slot = Math.min((right - left) / total, 48);
  ["token", "example"].forEach((name, row) => {
    const floor = 46 + tall + row * (tall + 64);
    const value = decimal(d.means[row], 2);
    const title = fill(text["value.mean"], { name: text[`objective.${name}`], value });
    svg.append(label(left, floor - tall - 32, title, { "font-weight": 700, "font-size": 14 }));
    [0, most / 2, most].forEach((tick) => {
      const y = floor - (tall * tick) / most;
      svg.append(line([[left, y], [right, y]], { stroke: tick ? look.grid : look.neutral, "stroke-width": 1 }));
      svg.append(label(left - 8, y, decimal(tick, 3), { "text-anchor": "end", "font-size": 11 }));
    });
    let x = left;
    const names = [];
    tokens.forEach((n, k) => {
      const high = (tall * d.weights[row][k]) / most;
      range(n).forEach((i) => {
        const gap = slot > 4 ? 1 : 0.3;
        svg.append(box(x + i * slot + gap, floor - high, slot - 2 * gap, high, { fill: look.series[k] }));
      });
      names.push(fill(text["value.share"], { letter: "AB"[k], share: d.shares[row][k] }));
      if (n * slot >= 14) svg.append(label(x + (n * slot) / 2, floor + 11, "AB"[k], { "text-anchor": "middle" }));
      x += n * slot;
    });
    svg.append(label(left, floor - tall - 14, names.join("   ·   ")));
  });
  svg.append(turned(9, height / 2, text["axis.weight"]));
  svg.append(label((left + right) / 2, height - 8, text["axis.tokens"], { "text-anchor": "middle" }));
  return svg;
}

const KINDS = {
  denominator: { describe: describeDenominator, draw: drawDenominator },
  packing: { describe: describePacking, draw: drawPacking, point: pointPacking },
  waste: { describe: describeWaste, draw: drawWaste, sample: (name, look) => curveSample(CURVES.indexOf(name), look) },
};

// ------------------------------------------------------------------------------------------------ controls

const whole = (control) => Number.isInteger(control.step);

/** The nearest allowed number; as lmcourse.widgets.controls.Control.clamped. */
export function clampNumber(control, value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return control.default;
  const near = Math.min(Math.max(value, control.low), control.high);
  return whole(control) ? Math.floor(near + 0.5) : near;
}

/** Four stops to an octave for sliders that move in equal ratios. */
export const logStops = (control) => Math.round(4 * Math.log2(control.high / control.low));

export function fromSlider(control, stop) {
  if (!control.log) return clampNumber(control, stop);
  return clampNumber(control, control.low * 2 ** (stop / 4));
}

export const toSlider = (control, value) =>
  control.log ? Math.round(4 * Math.log2(value / control.low)) : value;

/** A Python call that makes the widget with these settings. */
export function pythonCall(kind, controls, params) {
  const literal = (value) => {
    if (typeof value === "boolean") return value ? "True" : "False";
    if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
    return JSON.stringify(value);
  };
  const settings = controls
    .filter((control) => JSON.stringify(params[control.name]) !== JSON.stringify(control.default))
    .map((control) => `${control.name}=${literal(params[control.name])}`);
  return `lmcourse.widgets.${kind}(${settings.join(", ")})`;
}

/** One labeled control. Returns its node and `show(value, extra)`, which brings it up to date. */
function makeControl(control, text, look, sample, change) {
  const id = fresh();
  const name = text[control.label || control.name];
  const problem = h("p", { id: `${id}p`, class: "lmc-problem", hidden: true });
  const complain = (words) => {
    problem.textContent = words ? `! ${words}` : "";
    problem.hidden = !words;
  };
  const words = (key, limits) => fill(text[key], { label: name, ...limits });
  let limits = { low: control.low, high: control.high };

  const numberField = (attributes) => {
    const field = h("input", {
      type: "number",
      step: control.step,
      "aria-describedby": `${id}p`,
      ...attributes,
      oninput: () => {
        const value = field.valueAsNumber;
        const fits = value >= limits.low && value <= limits.high && (!whole(control) || Number.isInteger(value));
        complain(fits ? "" : words("range.problem", limits));
        if (fits) change(value);
      },
      onchange: () => {
        complain("");
        change(clampNumber({ ...control, ...limits, default: current }, field.valueAsNumber));
      },
    });
    return field;
  };
  let current = control.default;
  const put = (field, value) => {
    if (field.ownerDocument.activeElement !== field || field.valueAsNumber !== value) field.value = value;
  };

  if (control.kind === "check") {
    const field = h("input", { type: "checkbox", id, onchange: () => change(field.checked) });
    const node = h("div", { class: "lmc-control lmc-check" }, h("label", { for: id }, field, h("span", {}, name)));
    return { node, show: (value) => (field.checked = value) };
  }
  if (control.kind === "set") {
    const buttons = control.options.map((option) => {
      const button = h(
        "button",
        {
          type: "button",
          "aria-pressed": "true",
          onclick: () => {
            const next = current.includes(option) ? current.filter((o) => o !== option) : [...current, option];
            change(control.options.filter((o) => next.includes(o)));
          },
        },
        h("span", { class: "lmc-sample" }),
        text[`curve.${option}`],
      );
      return { option, button };
    });
    const node = h(
      "fieldset",
      { class: "lmc-control lmc-set" },
      h("legend", {}, name),
      h("div", {}, ...buttons.map(({ button }) => button)),
    );
    return {
      node,
      show(value) {
        current = value;
        for (const { option, button } of buttons) {
          button.setAttribute("aria-pressed", String(value.includes(option)));
          button.querySelector(".lmc-sample").replaceChildren(sample(option, look()));
        }
      },
    };
  }
  const caption = h("label", { for: id }, name);
  const node = h("div", { class: `lmc-control lmc-${control.kind}` }, caption);
  if (control.kind === "text") {
    const field = h("input", {
      type: "text",
      id,
      maxlength: 400,
      spellcheck: "false",
      autocomplete: "off",
      "aria-describedby": `${id}p`,
      oninput: () => change(field.value),
    });
    node.append(field, problem);
    const show = (value, extra) => {
      if (field.value !== value) field.value = value;
      complain(extra.problem ?? "");
      field.setAttribute("aria-invalid", String(Boolean(extra.problem)));
    };
    return { node, show };
  }
  if (control.kind === "select") {
    const options = control.options.map((option) => h("option", { value: option }, text[`${control.name}.${option}`]));
    const field = h("select", { id, onchange: () => change(field.value) }, ...options);
    node.append(field);
    const show = (value, extra) => {
      field.value = value;
      field.disabled = extra.off;
      caption.textContent = extra.off ? fill(text.off, { label: name }) : name;
    };
    return { node, show };
  }
  if (control.kind === "seed") {
    const field = numberField({ id, min: control.low, max: control.high });
    const next = () => change(current < control.high ? current + 1 : control.low);
    node.append(h("div", {}, field, h("button", { type: "button", onclick: next }, text["seed.new"])), problem);
    const show = (value) => put(field, (current = value));
    return { node, show };
  }
  if (control.kind === "number") {
    const field = numberField({ id, min: control.low, max: control.high });
    node.append(field, problem);
    return { node, show: (value) => put(field, (current = value)) };
  }
  const slider = h("input", {
    type: "range",
    id,
    step: control.log ? 1 : control.step,
    min: control.log ? 0 : control.low,
    max: control.log ? logStops(control) : control.high,
    oninput: () => change(fromSlider(control, slider.valueAsNumber)),
  });
  const field = numberField({ min: control.low });
  node.append(h("div", {}, slider, field), problem);
  const show = (value, extra) => {
    current = value;
    limits = { low: control.low, high: Math.min(control.high, extra.limit ?? control.high) };
    if (!control.log) slider.max = limits.high;
    slider.disabled = field.disabled = limits.low === limits.high;
    field.max = limits.high;
    field.setAttribute("aria-label", fill(text.range, { label: name, ...limits }));
    slider.value = toSlider(control, value);
    slider.setAttribute("aria-valuetext", grouped(value));
    put(field, value);
  };
  return { node, show };
}

// ------------------------------------------------------------------------------------------------ frame

const COMPACT = 836; // px: below, controls are narrower and the picture is drawn tighter
const TALL = 400; // px: height of the picture

function themeIsDark() {
  const lab = document.body.dataset.jpThemeLight;
  return lab === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : lab === "false";
}

/** Call back at every change of the theme; returns the function that ends it. */
function watchTheme(callback) {
  const observer = new MutationObserver(callback);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  const query = matchMedia("(prefers-color-scheme: dark)");
  query.addEventListener("change", callback);
  return () => {
    observer.disconnect();
    query.removeEventListener("change", callback);
  };
}

/** The still picture of this widget gives way while the widget is on the page. Returns the function that undoes it. */
function hideTwin(el, name) {
  const area = el.closest(".jp-OutputArea, .output_area, body");
  const twins = [...(area?.querySelectorAll(`.${CSS.escape(name)}`) ?? [])];
  const wrappers = twins.map((twin) => twin.closest(".jp-OutputArea-child") ?? twin);
  wrappers.forEach((wrapper) => (wrapper.style.display = "none"));
  return () => wrappers.forEach((wrapper) => (wrapper.style.display = ""));
}

async function toClipboard(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    return false;
  }
}

async function savePng(svg, background, name) {
  const [width, height] = ["width", "height"].map((side) => Number(svg.getAttribute(side)));
  svg.prepend(box(0, 0, width, height, { fill: background }));
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = url;
  await image.decode();
  URL.revokeObjectURL(url);
  const canvas = h("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  const png = await new Promise((done) => canvas.toBlob(done));
  canvas.width = 0;
  const link = h("a", { href: URL.createObjectURL(png), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function table(caption, rows, headed) {
  const cell = (words, scope) => h(scope ? "th" : "td", scope ? { scope } : {}, words);
  const body = headed ? rows.slice(1) : rows;
  return h(
    "table",
    {},
    caption ? h("caption", {}, caption) : [],
    headed ? h("thead", {}, h("tr", {}, ...rows[0].map((words) => cell(words, "col")))) : [],
    h("tbody", {}, ...body.map((row) => h("tr", {}, ...row.map((words, k) => cell(words, k === 0 && "row"))))),
  );
}

export function render({ model, el }) {
  const spec = model.get("spec");
  const { text, controls } = spec;
  const kind = KINDS[spec.kind];
  const id = fresh();
  const defaults = { ...model.get("params") };
  let params = { ...defaults };
  let dark = themeIsDark();
  let panel = "";
  let d = null;
  let size = null;
  const look = () => spec.palettes[dark ? "dark" : "light"];

  // ---- nodes, in the order of the tab sequence
  const made = {};
  const inputs = (name) =>
    controls
      .filter((control) => control.panel === name)
      .map((control) => {
        made[control.name] = makeControl(control, text, look, kind.sample, (value) => set({ [control.name]: value }));
        return made[control.name].node;
      });
  const picture = h("div", { class: "lmc-picture" });
  const region = (name, attributes, ...children) =>
    h(
      "div",
      {
        class: "lmc-panel",
        id: `${id}-${name}`,
        role: "region",
        "aria-label": text[`panel.${name}`],
        hidden: true,
        ...attributes,
      },
      ...children,
    );
  const numbers = region("numbers", { tabindex: 0 });
  const results = h("div", { "aria-live": "polite" });
  const heading = (name) => h("p", { class: "lmc-heading" }, text[`panel.${name}`]);
  const average = region(
    "average",
    {},
    heading("average"),
    h("p", {}, text["average.intro"] ?? ""),
    h("div", { class: "lmc-average" }, ...inputs("average")),
    results,
  );
  const prose = h("p", { class: "lmc-prose" }, fill(text.leaves, { documents: DOCUMENTS }));
  const leaves = region("leaves", {}, heading("leaves"), prose);
  const panels = { numbers, average, leaves };
  const readout = h("p", { class: "lmc-readout" });
  const note = h("p", { class: "lmc-note", "aria-live": "polite" }, text["try.hint"]);
  const live = h("p", { class: "lmc-live", role: "status", "aria-live": "polite" });
  const button = (words, onclick, attributes = {}) => h("button", { type: "button", onclick, ...attributes }, words);
  const experiments = spec.experiments.map((settings, k) =>
    button(`${k + 1}  ${text[`try.${k + 1}`]}`, () => {
      show("");
      set(settings);
      note.textContent = text[`try.${k + 1}.text`];
    }),
  );
  const toggles = Object.keys(panels)
    .filter((name) => name !== "average" || controls.some((control) => control.panel === "average"))
    .map((name) => {
      const attributes = { "aria-expanded": "false", "aria-controls": `${id}-${name}` };
      return button(text[`panel.${name}`], () => show(panel === name ? "" : name), attributes);
    });
  const root = h(
    "div",
    {
      class: "lmc",
      role: "group",
      "aria-labelledby": `${id}-title`,
      lang: spec.language,
      onkeydown: guard,
      onkeyup: (event) => event.stopPropagation(),
    },
    h("p", { class: "lmc-title", id: `${id}-title` }, text.title),
    h("p", { class: "lmc-question" }, text.question),
    h(
      "div",
      { class: "lmc-body" },
      h("div", { class: "lmc-controls" }, ...inputs("main")),
      h("div", { class: "lmc-stage" }, picture, ...Object.values(panels)),
    ),
    readout,
    h(
      "div",
      { class: "lmc-try" },
      h("span", { class: "lmc-try-title" }, text.try),
      h("div", { class: "lmc-buttons" }, ...experiments),
      note,
    ),
    h(
      "div",
      { class: "lmc-buttons lmc-foot" },
      ...toggles,
      h(
        "div",
        { class: "lmc-buttons" },
        button(text.reset, () => {
          show("");
          set(defaults);
          note.textContent = text["try.hint"];
        }),
        button(text.save, save),
        button(text.copy, copy),
      ),
    ),
    live,
  );

  // ---- behavior
  /** Keys stay in the widget, so that no one-letter command of the notebook hears them; Escape leaves it. */
  function guard(event) {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") return; // saving the notebook is for Lab
    event.stopPropagation();
    if (event.key !== "Escape") return;
    document.activeElement?.blur();
    const cell = el.closest(".jp-Cell");
    if (cell && !cell.hasAttribute("tabindex")) cell.setAttribute("tabindex", "-1");
    cell?.focus();
  }

  function set(changes) {
    if ("seed" in changes && "documents" in params && !("documents" in changes) && changes.seed !== params.seed) {
      changes = { ...changes, documents: randomDocuments(changes.seed) };
    }
    params = { ...params, ...changes };
    update();
    send();
  }

  let lastSent = "";
  let sending = 0;
  function send() {
    clearTimeout(sending);
    sending = setTimeout(() => {
      lastSent = JSON.stringify(params);
      model.set("params", { ...params });
      model.save_changes();
    }, 120);
  }

  function fromPython() {
    const wanted = model.get("params");
    const words = JSON.stringify(wanted);
    if (words === lastSent || words === JSON.stringify(params)) return;
    params = { ...params, ...wanted };
    update();
  }

  let speaking = 0;
  function speak(words) {
    clearTimeout(speaking);
    speaking = setTimeout(() => (live.textContent = words), 1000);
  }

  function update() {
    d = kind.describe(params, text);
    params = { ...params, ...d.effective };
    for (const control of controls) {
      made[control.name].show(params[control.name], {
        limit: d.limits[control.name],
        off: d.off.includes(control.name),
        problem: d.problems[control.name],
      });
    }
    if (readout.textContent !== d.readout) speak(d.readout);
    readout.textContent = d.readout;
    if (d.perToken !== undefined) {
      results.replaceChildren(
        h("p", {}, fill(text["average.per_token"], { value: d.perToken })),
        h("p", {}, fill(text["average.of_means"], { value: d.ofMeans })),
      );
    }
    if (panel === "numbers") fillNumbers();
    draw();
  }

  function fillNumbers() {
    numbers.replaceChildren(table("", d.numbers, false), table(d.gridCaption, d.grid, true));
  }

  /** Draw at the size of the picture; at its last size while it is hidden (Lab hides the page to change themes). */
  function draw() {
    if (picture.clientWidth > 0) size = [picture.clientWidth, picture.clientHeight];
    if (size) picture.replaceChildren(kind.draw(...size, d, params, look(), text));
  }

  function show(name) {
    panel = name;
    if (name === "numbers") fillNumbers();
    picture.hidden = name !== "";
    for (const [key, node] of Object.entries(panels)) node.hidden = key !== name;
    for (const toggle of toggles) {
      toggle.setAttribute("aria-expanded", String(toggle.getAttribute("aria-controls") === `${id}-${name}`));
    }
    if (name === "") draw();
  }

  async function save() {
    const file = `${spec.kind}.png`;
    await savePng(kind.draw(680, TALL, d, params, spec.palettes.light, text), "#ffffff", file);
    note.textContent = fill(text.saved, { file });
  }

  async function copy() {
    const line = pythonCall(spec.kind, controls, params);
    note.textContent = (await toClipboard(line)) ? text.copied : fill(text["copy.failed"], { line });
  }

  function pointed(event) {
    const frame = picture.getBoundingClientRect();
    return kind.point?.(event.clientX - frame.left, event.clientY - frame.top, picture.clientWidth, params);
  }
  picture.addEventListener("pointermove", (event) => {
    const at = pointed(event);
    if (at?.key === undefined) readout.textContent = d.readout;
    else {
      const code = text[`code.${d.view.codes[at.query][at.key]}`];
      readout.textContent = fill(text.hover, { query: d.names[at.query], key: d.names[at.key], code });
    }
  });
  picture.addEventListener("pointerleave", () => (readout.textContent = d.readout));
  picture.addEventListener("click", (event) => {
    const at = pointed(event);
    if (at) set({ selected: at.query });
  });

  // ---- life
  el.replaceChildren(root);
  let bringBack = () => {};
  let frame = 0;
  const resized = new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const compact = root.clientWidth < COMPACT;
      root.classList.toggle("lmc-compact", compact);
      const room = picture.parentElement.clientWidth;
      root.style.setProperty("--lmc-height", `${compact ? Math.min(384, room + 50) : TALL}px`);
      if (el.isConnected) {
        bringBack();
        bringBack = hideTwin(el, model.get("twin"));
      }
      draw();
    });
  });
  resized.observe(root);
  const themed = () => {
    dark = themeIsDark();
    for (const name of ["text", "alarm", "neutral", "grid", "background"]) {
      root.style.setProperty(`--lmc-${name}`, look()[name]);
    }
    root.style.setProperty("--lmc-accent", look().series[dark ? 1 : 0]);
    update();
  };
  const endTheme = watchTheme(themed);
  model.on("change:params", fromPython);
  themed();
  return () => {
    resized.disconnect();
    endTheme();
    model.off("change:params", fromPython);
    clearTimeout(sending);
    clearTimeout(speaking);
    cancelAnimationFrame(frame);
    bringBack();
  };
}

export default { render };
