// What keys do, and the list of them.

import { app, at, make } from "./dom.js";
import { change, answer, letGo, mark, moveFocus, shown, turn, unmark } from "./mark.js";

// Of the classes, in their order; the other keys are those of the commands.
export const CLASS_KEYS = "1234567890qwedfghjklzcvbnopia";

/** @type {{keys: string[], shows: string, what: string, run: () => unknown}[]} */
const COMMANDS = [
  { keys: ["Enter"], shows: "Enter", what: "Accept: all marks are right, and none is missing", run: () => answer("accept") },
  { keys: ["s"], shows: "S", what: "Skip: the text is left out of the training and the test", run: () => answer("ignore") },
  { keys: ["r"], shows: "R", what: "Reject: the text is no good example, and is left out, too", run: () => answer("reject") },
  { keys: ["x"], shows: "X", what: "No marks: takes all marks away; accept then says that nothing is to be found here", run: () => shown.text && change([]) },
  { keys: ["Delete", "Backspace"], shows: "Delete", what: "✕: takes the mark at the word away", run: unmark },
  { keys: ["Escape"], shows: "Escape", what: "Lets the chosen words go", run: letGo },
  { keys: [",", "PageUp"], shows: ", or Page up", what: "Back: the text that you answered before", run: () => turn(-1) },
  { keys: [".", "PageDown"], shows: ". or Page down", what: "Forward: the text after it", run: () => turn(1) },
];

/**
 * Let keys do what they do.
 * @param {Record<string, () => unknown>} more "undo", "redo", "train", "view"
 */
export function listenToKeys(more) {
  COMMANDS.push(
    { keys: ["u"], shows: "U or Ctrl+Z", what: "Undo: takes the last change back", run: more.undo },
    { keys: ["y"], shows: "Y or Ctrl+Y", what: "Redo: does it again", run: more.redo },
    { keys: ["t"], shows: "T", what: "Train: learns from what was accepted", run: more.train },
    { keys: ["m"], shows: "M", what: "The next view (Mark, All texts, Entities, Progress)", run: more.view },
    { keys: ["?"], shows: "?", what: "Shows this help", run: showHelp },
  );
  document.addEventListener("keydown", (event) => onKey(event, more));
  at("show-help").addEventListener("click", showHelp);
}

/** @param {KeyboardEvent} event @param {Record<string, () => unknown>} more */
function onKey(event, more) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest("input, select, textarea, dialog")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.ctrlKey || event.metaKey) {
    const step = key === "y" || (key === "z" && event.shiftKey) ? more.redo : more.undo;
    if (event.altKey) return;
    if (["z", "y"].includes(key)) step();
    else if (at("mark").hidden || !moveFocus(event)) return;
    event.preventDefault();
    return;
  }
  const command = COMMANDS.find(({ keys }) => keys.includes(key));
  if (event.altKey || (at("mark").hidden && !["?", "u", "y", "m"].includes(key))) return;
  if (event.key === "Enter" && target.closest("button, a")) return;
  const place = CLASS_KEYS.indexOf(key);
  const row = key.length === 1 && place >= 0 ? app.state?.classes[place] : null;
  if (row) mark(row.id);
  else if (!moveFocus(event) && command) {
    if (!event.repeat) command.run();
  } else if (!event.key.startsWith("Arrow") || target === document.body) return;
  event.preventDefault();
}

export function showHelp() {
  // Those that begin with the name of a button are for fingers, too.
  const rows = [
    ["Arrows", "Go to a word or a line; Shift and arrows choose more"],
    ["Ctrl+← Ctrl+→", "Go to the mark before or after"],
    ["Home, End", "Go to the first or the last word"],
    ["1 to 9, 0, letters", "Mark the chosen words as the class that shows this key"],
    ...COMMANDS.map(({ shows, what }) => [shows, what]),
  ].map(([keys, what]) =>
    make("tr", { class: what.includes(": ") ? "" : "for-keys" }, make("th", { scope: "row" }, make("kbd", {}, keys)), make("td", {}, what)),
  );
  at("keys").replaceChildren(...rows);
  at("help").showModal();
  at("help").scrollTop = 0; // the button that has the keyboard is at the end
}
