// Where keys lead from a word: to the next one, line or mark, or to an end of the text.

/** @typedef {import("./marks.js").Mark} Mark */

/**
 * The word that a key leads to.
 * @param {KeyboardEvent} event @param {HTMLElement} place of the words
 * @param {number} from @param {Mark[]} marks
 * @returns {number | undefined} undefined: the key leads nowhere
 */
export function wordAfterKey(event, place, from, marks) {
  const words = [.../** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll(".word"))];
  const right = getComputedStyle(place).direction === "rtl" ? -1 : 1;
  const isWide = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case "ArrowRight":
      return isWide ? nextMark(marks, from, right) : from + right;
    case "ArrowLeft":
      return isWide ? nextMark(marks, from, -right) : from - right;
    case "ArrowDown":
      return isWide ? words.length - 1 : wordOnLine(words, from, 1);
    case "ArrowUp":
      return isWide ? 0 : wordOnLine(words, from, -1);
    case "Home":
      return 0;
    case "End":
      return words.length - 1;
    default:
      return undefined;
  }
}

/**
 * The first word of the next mark, or of the one before; the same word if there is none.
 * @param {Mark[]} marks @param {number} from @param {number} step
 */
function nextMark(marks, from, step) {
  const starts = marks.map(([start]) => start).sort((a, b) => a - b);
  const found = step > 0 ? starts.find((x) => x > from) : starts.reverse().find((x) => x < from);
  return found ?? from;
}

/**
 * The word below or above one, as it stands on the page; the same word if there is none.
 * @param {HTMLElement[]} words @param {number} from @param {number} step
 */
function wordOnLine(words, from, step) {
  const place = words[from].getBoundingClientRect();
  const middle = (/** @type {DOMRect} */ one) => (one.left + one.right) / 2;
  let best = from;
  let line = null;
  let distance = Infinity;
  for (let i = from + step; i >= 0 && i < words.length; i += step) {
    const one = words[i].getBoundingClientRect();
    const isOther = Math.abs(one.top - place.top) > place.height / 2;
    if (line !== null && Math.abs(one.top - line) > place.height / 2) break;
    if (!isOther) continue;
    line = one.top;
    const off = Math.abs(middle(one) - middle(place));
    if (off < distance) [best, distance] = [i, off];
  }
  return best;
}
