// The text that is shown: what is marked in it, and what was answered.

import { wordAfterKey } from "./arrows.js";
import { call, queue, say } from "./call.js";
import { showComparison } from "./compare.js";
import { app, at, classMap, counted, make } from "./dom.js";
import { markAt, showMarks, showWords, sureEnough, withMark, without } from "./marks.js";

/** @typedef {import("./marks.js").Mark} Mark */

export const shown = {
  /** @type {any} */ text: null,
  /** @type {Mark[]} */ marks: [],
  // What the model proposed and the person has not touched.
  /** @type {any[]} */ guesses: [],
  /** @type {{start: number, end: number} | null} */ selection: null,
  focused: 0,
  anchor: 0,
  // Between an answer and the next text.
  isLeaving: false,
};
// What the page does when something was changed, and to come back to this view.
export const steps = { look: async () => {}, goTo: (/** @type {string} */ _) => {} };

export const ANSWERS = { open: "", accept: "accepted", reject: "rejected", ignore: "skipped" };

export function refresh() {
  const { text, marks, guesses, selection } = shown;
  if (text) showMarks(at("text"), marks, guesses, selection, classMap());
  const { start, end } = selection || { start: 0, end: 0 };
  const isMarked = without(marks, start, end).length < marks.length;
  if (at("unmark")) at("unmark").disabled = !isMarked;
}

/**
 * Show a text. @param {any} next
 * @param {boolean} isAsked whether the person asked for it: then the keyboard goes there
 */
export function show(next, isAsked = true) {
  const isSame = shown.text !== null && next !== null && shown.text.id === next.id;
  const { activeElement } = document;
  const hadFocus = activeElement === document.body || at("text").contains(activeElement);
  shown.text = next;
  shown.selection = null;
  at("mark").classList.toggle("nothing", next === null);
  at("over").hidden = next !== null;
  if (next === null) return at("text").replaceChildren();
  takeMarks();
  showFacts();
  showWords(at("text"), next.words);
  refresh();
  showComparison(at("others"), shown, change);
  const word = setFocused(isSame ? shown.focused : 0);
  const isElsewhere = at("mark").hidden || document.querySelector("dialog[open]");
  if (isElsewhere || !(isAsked || hadFocus)) return;
  word?.focus({ preventScroll: true });
  const { top } = at("text").getBoundingClientRect();
  if (isAsked && (top < 0 || top > innerHeight / 2)) scrollTo({ top: 0 });
}

/** The marks of the text, or what is sure enough of what the model proposes. */
function takeMarks() {
  const { text } = shown;
  const guesses = sureEnough(text.proposed, app.state ? app.state.least : 0);
  shown.guesses = text.marks === null ? guesses : [];
  const proposed = guesses.map((/** @type {any} */ p) => p.slice(0, 3));
  shown.marks = text.marks === null ? proposed : text.marks;
}

/** What is shown after the least confidence was changed. */
export function takeLeast() {
  if (!shown.text || shown.text.marks !== null) return;
  takeMarks();
  refresh();
}

/** What is to be known of the text, and what can be done with it as a whole. */
export function showFacts() {
  const { text } = shown;
  if (!text) return;
  const answer = ANSWERS[/** @type {"open"} */ (text.answer)];
  const part = text.is_test ? "test part" : "";
  const facts = [`Text ${text.id}`, answer, part].filter(Boolean).join(", ");
  at("facts").textContent = facts;
  at("kind").textContent = kindOf(text);
  at("back").hidden = text.answer === "open";
  at("move").textContent = text.is_test ? "Train on it" : "Use it as a test";
}

/** @param {any} text */
function kindOf(text) {
  if (text.others.length > 1) return "This text was marked in several ways. Which is right?";
  if (text.others.length) return "There are other marks of this text. Which are right?";
  if (text.doubtful) return "Model and you disagree on this text. Who is right?";
  if (text.is_test) return "Test part: no suggestions, and never trained on.";
  const reasons = text.reasons;
  const isChosen = app.state && app.state.order === "chosen";
  if (text.answer !== "open" || reasons.doubt === undefined || !isChosen) return "";
  const why = [];
  if (reasons.doubt > 0.8) why.push("the model is unsure");
  if (reasons.rare > 0.8 && reasons.rarest) why.push(`it may hold ${reasons.rarest}`);
  if (reasons.density > 0.8) why.push("many are like it");
  return why.length ? `Chosen since ${why.join(", and ")}.` : "";
}

/** Show a text by its number. @param {number} number */
export function open(number) {
  return queue(async () => {
    const text = await call("GET", `texts/${number}`);
    steps.goTo("mark");
    show(text);
    say("");
  });
}

/** The text that was answered before this one, or after it. @param {number} step */
export function turn(step) {
  return queue(async () => {
    const own = shown.text ? shown.text.id : 0;
    const found = await call("GET", `texts/${own}/neighbour?step=${step}`);
    if (found) show(found);
    else if (step > 0) show(await call("GET", "next"));
    say(found || step > 0 ? "" : "This is the first text that was answered");
  });
}

/** Note marks, and show what comes next if they were answered. @param {string} answer */
export function save(answer) {
  const own = shown.text;
  const content = { answer, marks: [...shown.marks] };
  const put = async () => {
    const version = own.version;
    const now = await call("PUT", `texts/${own.id}`, { ...content, version });
    Object.assign(own, { version: now.version, answer: now.answer, marks: now.marks });
    if (own === shown.text && answer === "open") showFacts();
  };
  if (answer === "open") return queue(put);
  shown.isLeaving = true;
  const leave = async () => {
    await put();
    await steps.look();
    const isAgain = own.doubtful || own.others.length;
    const again = isAgain ? app.state.doubtful[0] : null;
    const path = again ? `texts/${again}` : `next?other_than=${own.id}`;
    show(await call("GET", path));
    say({ accept: "Accepted", reject: "Rejected", ignore: "Skipped" }[answer] || "");
  };
  return queue(() => leave().finally(() => (shown.isLeaving = false)));
}

/** @param {string} kind */
export function answer(kind) {
  if (shown.text && !shown.isLeaving) save(kind);
}

/** Change the marks. @param {Mark[]} changed */
export function change(changed) {
  if (shown.isLeaving || !shown.text) return;
  shown.marks = changed;
  shown.text.marks = changed; // the server says so, too, in a moment
  say("");
  refresh();
  save("open");
  showComparison(at("others"), shown, change);
}

/** Mark what is selected, or the word with the focus. @param {number} number */
export function mark(number) {
  if (!shown.text || !classMap().has(number)) return;
  const isThere = shown.selection || at("text").contains(document.activeElement);
  if (!isThere) return say("Choose words first");
  const { start, end } = chosen();
  shown.selection = null;
  shown.guesses = /** @type {any} */ (without)(shown.guesses, start, end);
  change(withMark(shown.marks, start, end, number));
}

const chosen = () =>
  shown.selection || { start: shown.focused, end: shown.focused + 1 };

export function unmark() {
  if (!shown.text) return;
  const { start, end } = chosen();
  shown.selection = null;
  change(without(shown.marks, start, end));
}

export function letGo() {
  shown.selection = null;
  refresh();
}

/** @param {number} from @param {number} to */
export function select(from, to) {
  shown.selection = { start: Math.min(from, to), end: Math.max(from, to) + 1 };
  refresh();
}

/** Where the keyboard is. @param {number} word */
export function setFocused(word) {
  const all = at("text").querySelectorAll(".word");
  const before = all[shown.focused];
  if (before) before.tabIndex = -1;
  shown.focused = Math.max(0, Math.min(word, all.length - 1));
  if (all.length) all[shown.focused].tabIndex = 0;
  return all[shown.focused];
}

/** @param {number} word */
export const focusWord = (word) => setFocused(word)?.focus();

/** The keyboard goes back to the text, where Enter accepts. */
export function backToText() {
  if (shown.text && !at("mark").hidden) {
    setFocused(shown.focused)?.focus({ preventScroll: true });
  }
}

/** @param {KeyboardEvent} event @returns {boolean} whether it led to a word */
export function moveFocus(event) {
  const { activeElement } = document;
  const isThere = at("text").contains(activeElement);
  if (!shown.text || !(isThere || activeElement === document.body)) return false;
  const wanted = wordAfterKey(event, at("text"), shown.focused, shown.marks);
  if (wanted === undefined) return false;
  const before = shown.focused;
  focusWord(wanted);
  if (event.shiftKey) {
    if (shown.selection === null) shown.anchor = before;
    select(shown.anchor, shown.focused);
  } else {
    const own = markAt(shown.marks, shown.focused);
    shown.selection = own ? { start: own[0], end: own[1] } : null;
    refresh();
  }
  return true;
}

/** Take the answer and the marks of the text away. */
export function takeBack() {
  queue(async () => {
    const { id, version } = shown.text;
    show(await call("POST", `texts/${id}/back`, { version }));
    await steps.look();
    say("The text has no answer any more");
  });
}

/** Move the text to the test part, or from it. */
export function move() {
  queue(async () => {
    const { id, is_test: isTest } = shown.text;
    show(await call("PUT", `texts/${id}/part`, { is_test: !isTest }));
    await steps.look();
    say(isTest ? "The text is trained on now" : "The text is in the test part now");
  });
}

/** What is said where all texts are answered. */
export function showOver() {
  const { counts } = app.state;
  const all = make("button", {}, "All texts");
  all.addEventListener("click", () => steps.goTo("texts"));
  const said = `All ${counted(counts.texts, "text")} are answered. `;
  at("over").replaceChildren(make("p", {}, said), all);
}
