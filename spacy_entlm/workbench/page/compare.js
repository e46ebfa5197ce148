// What others marked in a text, beside what the person marked, and what differs.

import { app, chip, classMap, make, percent } from "./dom.js";
import { showMarks, showWords, sureEnough, withMark, without } from "./marks.js";

/** @typedef {import("./marks.js").Mark} Mark */

/**
 * Show what the model found, or a file has, where the person has marked already.
 * @param {HTMLElement} place @param {any} shown the text and its marks
 * @param {(marks: Mark[]) => unknown} change
 */
export function showComparison(place, shown, change) {
  const { text, marks } = shown;
  const isMarked = text.marks !== null;
  const found = sureEnough(text.proposed, app.state ? app.state.least : 0);
  const isOne = text.others.length === 1;
  const sides = text.others.map((/** @type {Mark[]} */ own, /** @type {number} */ i) =>
    [isOne ? "Other marks of it" : `Version ${i + 1}`, own]);
  const isOther = differing(marks, found.map((one) => /** @type {any} */ (one.slice(0, 3)))).length;
  if (text.doubtful && !found.length) sides.push(["The model found nothing", []]);
  else if (text.doubtful || (isMarked && text.answer !== "open" && found.length && isOther)) {
    sides.push(["The model found", found]);
  }
  place.hidden = sides.length === 0;
  place.replaceChildren(
    ...sides.map(([title, own]) => showSide(title, own, text.words, isMarked ? marks : null, change)),
  );
}

/**
 * @param {string} title @param {any[]} own @param {[string, boolean][]} words
 * @param {Mark[] | null} marks null: the person has marked nothing yet
 * @param {(marks: Mark[]) => unknown} change
 */
function showSide(title, own, words, marks, change) {
  const text = make("p", { class: "text", dir: "auto" });
  showWords(text, words, false);
  const plain = own.map((one) => /** @type {Mark} */ (one.slice(0, 3)));
  showMarks(text, plain, [], null, classMap());
  const side = make("section", { "aria-label": title }, make("h2", {}, title), text);
  const differences = marks === null ? [] : differing(marks, plain);
  if (marks !== null && !differences.length) {
    side.append(make("p", { class: "note" }, "There is no difference."));
    return side;
  }
  const list = make("ul", { class: "differences" });
  for (const [mark, isOurs] of differences) {
    list.append(showDifference(mark, isOurs, own, words, marks || [], change));
  }
  const all = make("button", {}, plain.length ? "Take these marks" : "Take it without marks");
  all.addEventListener("click", () => change(plain));
  side.append(list, all);
  return side;
}

/**
 * Marks of one side only, and whether they are the person's.
 * @param {Mark[]} ours @param {Mark[]} theirs @returns {[Mark, boolean][]}
 */
function differing(ours, theirs) {
  const known = [ours, theirs].map((own) => new Set(own.map(String)));
  const parts = [
    ...ours.filter((mark) => !known[1].has(String(mark))).map((mark) => [mark, true]),
    ...theirs.filter((mark) => !known[0].has(String(mark))).map((mark) => [mark, false]),
  ];
  return /** @type {any} */ (parts.sort((a, b) => a[0][0] - b[0][0]));
}

/**
 * @param {Mark} mark @param {boolean} isOurs @param {any[]} own
 * @param {[string, boolean][]} words @param {Mark[]} marks
 * @param {(marks: Mark[]) => unknown} change
 */
function showDifference(mark, isOurs, own, words, marks, change) {
  const [start, end, number] = mark;
  const inside = words.slice(start, end).map(([word, blank]) => word + (blank ? " " : ""));
  const proposal = own.find((one) => mark.every((x, i) => x === one[i]));
  const sure = proposal && proposal.length > 3 ? ` ${percent(proposal[3])}` : "";
  const button = make("button", {}, isOurs ? "Take it away" : "Mark it, too");
  button.addEventListener("click", () =>
    change(isOurs ? without(marks, start, end) : withMark(marks, start, end, number)),
  );
  const who = isOurs ? "Only you: " : "Not yours: ";
  return make("li", {}, who, chip(inside.join("").trim(), number, sure), " ", button);
}
