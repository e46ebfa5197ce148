// The page of the workbench: what is shown, and what keys and pointers do.

import { N_COLORS, isAsking, showClasses } from "./classes.js";
import { markAt, showMarks, showWords, withMark, without } from "./marks.js";
import { showRun, showScores } from "./side.js";

const BUSY = 1000; // milliseconds between looks at a training that runs
const CALM = 4000;

/** @typedef {import("./marks.js").Mark} Mark */

const token = location.hash.slice(1);
/** @type {any} */ let state = null;
/** @type {any} */ let text = null;
/** @type {Mark[]} */ let marks = [];
// What the model proposed and the person has not touched.
/** @type {any[]} */ let guesses = [];
/** @type {{start: number, end: number} | null} */ let selection = null;
let focused = 0;
let anchor = 0;
let isDragging = false;
// Between an answer and the next text.
let isLeaving = false;
/** @type {Promise<unknown>} */ let saving = Promise.resolve();

/** @param {string} id @returns {any} */
const at = (id) => document.getElementById(id);

/**
 * Call the server.
 * @param {string} method @param {string} path @param {object} [body]
 */
async function call(method, path, body) {
  const headers = { "x-workbench-token": token, "content-type": "application/json" };
  const content = body === undefined ? undefined : JSON.stringify(body);
  const sent = await fetch(`/api/${path}`, { method, headers, body: content });
  const answer = await sent.json();
  if (sent.ok) return answer;
  const detail = answer.detail;
  const said = typeof detail === "string" ? detail : "The server refused this";
  throw Object.assign(new Error(said), { status: sent.status });
}

/** @param {string} words @param {boolean} [isWrong] */
function say(words, isWrong = false) {
  at("status").textContent = words;
  at("status").classList.toggle("wrong", isWrong);
}

/** Run something, and say what went wrong. @param {() => Promise<unknown>} step */
async function attempt(step) {
  try {
    await step();
  } catch (error) {
    const problem = /** @type {any} */ (error);
    const gone = problem.status === undefined;
    say(gone ? "The server does not answer: start it again" : problem.message, true);
    if (problem.status === 409 && text) show(await call("GET", `texts/${text.id}`));
  }
}

/** One after the other, so that nothing overtakes. @param {() => Promise<unknown>} step */
function queue(step) {
  saving = saving.then(() => attempt(step));
  return saving;
}

function classMap() {
  const rows = state ? state.classes : [];
  return new Map(
    rows.map((/** @type {any} */ row) => [
      row.id,
      { name: row.name, color: (row.id - 1) % N_COLORS },
    ]),
  );
}

function refresh() {
  if (text) showMarks(at("text"), marks, guesses, selection, classMap());
}

/** Show a text. @param {any} next @param {boolean} isAsked whether the person asked for it */
function show(next, isAsked = true) {
  const isSame = text !== null && next !== null && text.id === next.id;
  const { activeElement } = document;
  const isFree = isAsked && activeElement === document.body;
  const hasFocus = isFree || at("text").contains(activeElement);
  text = next;
  selection = null;
  if (text === null) {
    at("text").replaceChildren();
    at("kind").textContent = "All texts are answered.";
    return;
  }
  const proposed = text.proposed.map((/** @type {any} */ p) => p.slice(0, 3));
  marks = text.marks === null ? proposed : text.marks;
  guesses = text.marks === null ? text.proposed : [];
  at("kind").textContent = kindOf(text);
  showWords(at("text"), text.words);
  refresh();
  const word = setFocused(isSame ? focused : 0);
  if (hasFocus) word?.focus({ preventScroll: !isAsked });
}

/** @param {any} shown */
function kindOf(shown) {
  if (shown.is_test) return "Test part: no pre-marks, and never trained on.";
  if (shown.doubtful) return "Model and you disagree on this text. Who is right?";
  const reasons = shown.reasons;
  if (reasons.doubt === undefined) return "";
  const why = [];
  if (reasons.doubt > 0.8) why.push("the model is unsure");
  if (reasons.rare > 0.8 && reasons.rarest) why.push(`it may hold ${reasons.rarest}`);
  if (reasons.density > 0.8) why.push("many are like it");
  return why.length ? `Chosen since ${why.join(", and ")}.` : "";
}

/** Show a text by its number. @param {number} number */
function open(number) {
  queue(async () => show(await call("GET", `texts/${number}`)));
}

/** Note marks, and show what comes next if they were answered. @param {string} answer */
function save(answer) {
  const own = text;
  const content = { answer, marks: [...marks] };
  const put = async () => {
    const version = own.version;
    const now = await call("PUT", `texts/${own.id}`, { ...content, version });
    own.version = now.version;
  };
  if (answer === "open") return queue(put);
  isLeaving = true;
  const leave = async () => {
    await put();
    await look();
    const again = state.doubtful.length && own.doubtful ? state.doubtful[0] : null;
    const path = again ? `texts/${again}` : `next?other_than=${own.id}`;
    show(await call("GET", path));
    say({ accept: "Accepted", reject: "Rejected", ignore: "Skipped" }[answer] || "");
  };
  return queue(() => leave().finally(() => (isLeaving = false)));
}

/** Change the marks. @param {Mark[]} changed */
function change(changed) {
  if (isLeaving) return;
  marks = changed;
  refresh();
  save("open");
}

/** Mark what is selected, or the word with the focus. @param {number} number */
function mark(number) {
  if (!text || !classMap().has(number)) return;
  const isThere = selection || at("text").contains(document.activeElement);
  if (!isThere) return say("Choose words first");
  const { start, end } = selection || { start: focused, end: focused + 1 };
  selection = null;
  guesses = /** @type {any} */ (without)(guesses, start, end);
  change(withMark(marks, start, end, number));
}

function unmark() {
  if (!text) return;
  const { start, end } = selection || { start: focused, end: focused + 1 };
  selection = null;
  change(without(marks, start, end));
}

function letGo() {
  selection = null;
  refresh();
}

/** @param {number} from @param {number} to */
function select(from, to) {
  selection = { start: Math.min(from, to), end: Math.max(from, to) + 1 };
  refresh();
}

/** Where the keyboard is. @param {number} word */
function setFocused(word) {
  const all = at("text").querySelectorAll(".word");
  focused = Math.max(0, Math.min(word, all.length - 1));
  all.forEach((/** @type {HTMLElement} */ x, /** @type {number} */ i) => {
    x.tabIndex = i === focused ? 0 : -1;
  });
  return all[focused];
}

/** @param {number} word */
const focusWord = (word) => setFocused(word)?.focus();

/** The word under a pointer; a gap counts as the word before it. @param {any} event */
function wordUnder(event) {
  const found = document.elementFromPoint(event.clientX, event.clientY);
  const element = found && found.closest("[data-word], [data-gap]");
  if (!(element instanceof HTMLElement) || !at("text").contains(element)) return null;
  return Number(element.dataset.word ?? element.dataset.gap);
}

function listenToPointers() {
  const place = at("text");
  place.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    const word = wordUnder(event);
    if (word === null || event.button !== 0) return;
    event.preventDefault();
    const touched = event.pointerType === "touch" && selection !== null;
    const extends_ = event.shiftKey || (touched && !markAt(marks, word));
    const own = markAt(marks, word);
    const { start, end } = selection || { start: 0, end: 0 };
    // Again at what ends it, or at a mark, lets go; within, it becomes shorter.
    const isEnd = word === (anchor === start ? end - 1 : start);
    const letsGo = touched && start <= word && word < end && (own || isEnd);
    if (!extends_) anchor = word;
    isDragging = !letsGo;
    focusWord(word);
    if (letsGo) letGo();
    else if (own && !extends_) select(own[0], own[1] - 1);
    else select(anchor, word);
    place.setPointerCapture(event.pointerId);
  });
  place.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    const word = isDragging ? wordUnder(event) : null;
    if (word !== null && word !== anchor) select(anchor, word);
  });
  // Also where a screen reader moves it.
  place.addEventListener("focusin", (/** @type {any} */ event) =>
    setFocused(Number(event.target.dataset.word)),
  );
  for (const end of ["pointerup", "pointercancel"]) {
    place.addEventListener(end, () => (isDragging = false));
  }
}

/** @param {KeyboardEvent} event @returns {boolean} whether it was an arrow */
function moveFocus(event) {
  const isRight = getComputedStyle(at("text")).direction === "rtl" ? -1 : 1;
  const step = { ArrowRight: isRight, ArrowLeft: -isRight, ArrowDown: 1, ArrowUp: -1 }[
    event.key
  ];
  if (step === undefined || !at("text").contains(document.activeElement)) return false;
  const before = focused;
  focusWord(focused + step);
  if (event.shiftKey) {
    if (selection === null) anchor = before;
    select(anchor, focused);
  } else {
    const own = markAt(marks, focused);
    selection = own ? { start: own[0], end: own[1] } : null;
    refresh();
  }
  return true;
}

/** @type {Record<string, () => unknown>} */
const KEYS = {
  Enter: () => answer("accept"),
  s: () => answer("ignore"),
  r: () => answer("reject"),
  x: () => text && change([]),
  u: undo,
  t: train,
  Delete: unmark,
  Backspace: unmark,
  Escape: letGo,
};

/** @param {KeyboardEvent} event */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const isUndo = (event.ctrlKey || event.metaKey) && event.key === "z";
  if (target.closest("input, select")) return;
  if (event.altKey || ((event.ctrlKey || event.metaKey) && !isUndo)) return;
  if (event.key === "Enter" && target.closest("button")) return;
  const digit = Number(event.key);
  const row = event.key >= "1" && event.key <= "9" ? state?.classes[digit - 1] : null;
  const step = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (isUndo) undo();
  else if (row) mark(row.id);
  else if (!moveFocus(event) && step) {
    if (!event.repeat) step();
  }
  else if (!event.key.startsWith("Arrow") || target === document.body) return;
  event.preventDefault();
}

/** @param {string} kind */
function answer(kind) {
  if (text && !isLeaving) save(kind);
}

function undo() {
  queue(async () => {
    const undone = await call("POST", "undo");
    await look();
    if (undone === null) say("There is nothing to take back");
    else if (undone.kind === "answer") show(await call("GET", `texts/${undone.target}`));
    else if (text) show(await call("GET", `texts/${text.id}`));
    if (undone !== null) say("Taken back");
  });
}

function train() {
  queue(async () => {
    await call("POST", "train");
    say("Training began: go on marking");
    await look();
  });
}

function renewClasses() {
  showClasses(at("classes"), state.classes, {
    mark: (number) => {
      mark(number);
      if (text) focusWord(focused); // Enter then accepts
    },
    add: (name) => queue(() => call("POST", "classes", { name })),
    rename: (number, name) => queue(() => call("PUT", `classes/${number}`, { name })),
    done: () => queue(async () => (await look(), renewClasses())),
  });
}

/** Look at all but the text. */
async function look() {
  const before = JSON.stringify(state && state.classes);
  const ran = state && state.running;
  state = await call("GET", "state");
  const { answers, texts } = state.counts;
  const done = answers.accept + answers.reject + answers.ignore;
  at("counts").textContent = `${done} of ${texts} texts, ${state.counts.test} for the test`;
  at("order").value = state.order;
  at("check").disabled = state.doubtful.length === 0;
  at("check").textContent = `Look again at disagreements (${state.doubtful.length})`;
  const isOther = before !== JSON.stringify(state.classes);
  if (isOther && !isAsking(at("classes"))) renewClasses();
  showRun(state);
  showScores(state, open);
  refresh();
  return ran && !state.running;
}

async function poll() {
  await queue(async () => {
    // What the new model proposes is shown where nothing was marked yet.
    const isUntouched = () => text && !text.version && selection === null;
    if ((await look()) && isUntouched()) {
      show(await call("GET", `next`), false);
    } else if (text === null) show(await call("GET", "next"), false);
  });
  setTimeout(poll, state && state.running ? BUSY : CALM);
}

function start() {
  listenToPointers();
  document.addEventListener("keydown", onKey);
  const clicks = { accept: "accept", skip: "ignore", reject: "reject" };
  for (const [id, kind] of Object.entries(clicks)) {
    at(id).addEventListener("click", () => answer(kind));
  }
  at("clear").addEventListener("click", () => text && change([]));
  at("undo").addEventListener("click", undo);
  at("train").addEventListener("click", train);
  at("wheel").addEventListener("click", () =>
    queue(async () => (await call("POST", "wheel"), look())),
  );
  at("order").addEventListener("change", () =>
    queue(() => call("PUT", "order", { order: at("order").value })),
  );
  at("check").addEventListener("click", () =>
    queue(async () => show(await call("GET", `texts/${state.doubtful[0]}`))),
  );
  at("export").addEventListener("click", () =>
    queue(async () => {
      const { files, folder } = await call("POST", "export");
      at("written").textContent = `${files.join(", ")} in ${folder}`;
    }),
  );
  poll();
}

start();
