// F1 over time, as a curve with intervals.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 320;
const HEIGHT = 150;
const LEFT = 28;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 30;

/**
 * @typedef {{value: number, low: number | null, high: number | null}} Figure
 * @typedef {{n: number, f1: Figure}} Point F1 after a training on n texts
 */

/**
 * @param {string} name @param {Record<string, string | number>} attributes
 * @param {string} [text]
 */
function draw(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, String(value));
  }
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * The curve of some trainings.
 * @param {Point[]} points the first training first @returns {SVGElement}
 */
export function curve(points) {
  const most = Math.max(...points.map((point) => point.n), 1);
  const x = (/** @type {number} */ n) => LEFT + ((WIDTH - LEFT - RIGHT) * n) / most;
  const y = (/** @type {number} */ f1) =>
    TOP + (HEIGHT - TOP - BOTTOM) * (1 - f1 / 100);
  const last = points[points.length - 1];
  const said = `F1 after ${points.length} trainings, now ${last.f1.value.toFixed(1)}`;
  const picture = draw("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": said,
  });
  for (const f1 of [0, 50, 100]) {
    const line = { x1: LEFT, x2: WIDTH - RIGHT, y1: y(f1), y2: y(f1), class: "grid" };
    const place = { x: LEFT - 4, y: y(f1) + 4, "text-anchor": "end" };
    picture.append(draw("line", line), draw("text", place, String(f1)));
  }
  const end = { x: WIDTH - RIGHT, y: HEIGHT - 16, "text-anchor": "end" };
  const middle = { x: (LEFT + WIDTH) / 2, y: HEIGHT - 2, "text-anchor": "middle" };
  picture.append(draw("text", { x: LEFT, y: HEIGHT - 16 }, "0"));
  picture.append(draw("text", end, String(most)));
  picture.append(draw("text", middle, "texts trained on"));
  for (const { n, f1 } of points) {
    if (f1.low === null || f1.high === null) continue;
    const line = { x1: x(n), x2: x(n), y1: y(f1.low), y2: y(f1.high) };
    picture.append(draw("line", { ...line, class: "interval" }));
  }
  const path = points.map(({ n, f1 }) => `${x(n)},${y(f1.value)}`).join(" ");
  picture.append(draw("polyline", { points: path, class: "curve" }));
  for (const { n, f1 } of points) {
    picture.append(draw("circle", { cx: x(n), cy: y(f1.value), r: 3, class: "point" }));
  }
  return /** @type {SVGElement} */ (picture);
}

/**
 * The ends of an interval as text.
 * @param {Figure} figure @returns {string}
 */
export function ends(figure) {
  if (figure.low === null || figure.high === null) return "too few";
  return `${figure.low.toFixed(0)} to ${figure.high.toFixed(0)}`;
}
