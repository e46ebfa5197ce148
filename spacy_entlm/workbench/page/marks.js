// Marks of a text: what a change makes of them, and how words show them.

import { percent } from "./dom.js";

// Percent of a colour from which on dark letters stand on it.
const STRONG = 60;

/** @typedef {[number, number, number]} Mark first word, end, number of the class */
/**
 * @typedef {[number, number, number, number | null]} Proposal a mark and its
 * confidence, null of a list of names
 */

/**
 * Mark some words; what overlaps them goes.
 * @param {Mark[]} marks @param {number} start @param {number} end
 * @param {number} number of the class @returns {Mark[]}
 */
export function withMark(marks, start, end, number) {
  /** @type {Mark} */
  const mark = [start, end, number];
  return [...without(marks, start, end), mark].sort((a, b) => a[0] - b[0]);
}

/**
 * Take marks away that overlap some words.
 * @param {Mark[]} marks @param {number} start @param {number} end
 * @returns {Mark[]}
 */
export function without(marks, start, end) {
  return marks.filter(([first, last]) => last <= start || first >= end);
}

/**
 * The mark that holds a word.
 * @param {Mark[]} marks @param {number} word @returns {Mark | undefined}
 */
export function markAt(marks, word) {
  return marks.find(([start, end]) => start <= word && word < end);
}

/**
 * What is sure enough to be shown.
 * @param {Proposal[]} proposed @param {number} least confidence
 */
export function sureEnough(proposed, least) {
  return proposed.filter((one) => one[3] === null || one[3] === undefined || one[3] >= least);
}

/**
 * Make an element of each word, in place of what is there.
 * @param {HTMLElement} place @param {[string, boolean][]} words
 * @param {boolean} [isChosen] whether words can be chosen
 */
export function showWords(place, words, isChosen = true) {
  const parts = words.flatMap(([text, blank], i) => {
    const word = document.createElement("span");
    word.className = "word";
    word.textContent = text;
    word.dataset.word = String(i);
    if (isChosen) {
      word.setAttribute("role", "option");
      word.tabIndex = -1;
    }
    const gap = document.createElement("span");
    gap.className = "gap";
    gap.dataset.gap = String(i);
    gap.textContent = blank ? " " : "";
    return [word, gap];
  });
  place.replaceChildren(...parts);
}

/**
 * How strong the colour of a suggestion is, in percent. Neither light nor dark letters
 * can be read well on the strengths between weak and strong, which are left out.
 * @param {number} sure
 */
function strengthOf(sure) {
  if (sure < 0.5) return Math.round(8 + 56 * sure);
  return Math.round(STRONG + 60 * (sure - 0.5));
}

/**
 * Show marks and the selection on the words that are there.
 * @param {HTMLElement} place @param {Mark[]} marks @param {Proposal[]} proposed
 * @param {{start: number, end: number} | null} selection
 * @param {Map<number, {name: string, color: string}>} classes
 */
export function showMarks(place, marks, proposed, selection, classes) {
  for (const word of place.querySelectorAll(".word")) {
    const element = /** @type {HTMLElement} */ (word);
    const i = Number(element.dataset.word);
    const gap = /** @type {HTMLElement} */ (element.nextElementSibling);
    const mark = markAt(marks, i);
    const known = mark && classes.get(mark[2]);
    const isChosen = selection !== null && selection.start <= i && i < selection.end;
    const same = mark && proposed.find((p) => mark.every((x, at) => x === p[at]));
    const strength = same ? strengthOf(same[3] ?? 0.5) : 100;
    for (const part of [element, gap]) {
      part.className = part === element ? "word" : "gap";
      const isInside = mark && (part === element || i + 1 < mark[1]);
      if (isInside) part.classList.add("marked");
      if (isInside) part.classList.toggle("guess", same !== undefined);
      // Dark letters, also where the page is dark.
      if (isInside) part.classList.toggle("strong", strength >= STRONG);
      if (isChosen && (part === element || i + 1 < selection.end)) {
        part.classList.add("chosen");
      }
      part.style.setProperty("--strength", `${strength}%`);
      part.style.setProperty("--c", known ? known.color : "#dddddd");
    }
    if (mark && mark[0] === i) element.classList.add("first");
    if (mark && mark[1] === i + 1) element.classList.add("last");
    const name = known ? known.name : "";
    const sure = same && (same[3] === null ? "of the list" : `${percent(same[3])} sure`);
    const figure = same && same[3] !== null ? ` ${percent(same[3])}` : "";
    element.dataset.label = mark && mark[1] === i + 1 ? `${name}${figure}` : "";
    element.title = sure ? `${name}, ${sure}` : name;
    const said = known ? `, ${name}${sure ? `, ${sure}` : ""}` : "";
    if (element.getAttribute("role") === "option") {
      element.setAttribute("aria-label", `${element.textContent}${said}`);
      element.setAttribute("aria-selected", String(isChosen));
    }
  }
}
