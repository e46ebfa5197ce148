// The classes: a button each, and a form for all that can be changed of one.

import { at, classOptions, make } from "./dom.js";
import { CLASS_KEYS } from "./keys.js";

/** @typedef {{id: number, name: string, words: string, color: string}} Class */
/**
 * @typedef {object} Steps
 * @property {(number: number) => unknown} mark
 * @property {() => unknown} unmark
 * @property {(name: string, words: string) => unknown} add
 * @property {(number: number, values: object) => unknown} change
 * @property {(number: number, into: number | null) => unknown} remove
 * @property {(numbers: number[]) => unknown} order
 */

/** @type {Class[]} */ let known = [];
/** @type {Class | null} */ let edited = null;

/** @param {HTMLElement} place @param {Class[]} classes @param {Steps} steps */
export function showClasses(place, classes, steps) {
  known = classes;
  const buttons = classes.map((row, i) => {
    const button = make("button", { title: row.words, class: "class" }, row.name);
    button.style.setProperty("--c", row.color);
    button.addEventListener("click", () => steps.mark(row.id));
    button.addEventListener("dblclick", () => edit(row));
    button.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "F2") edit(row);
    });
    if (i < CLASS_KEYS.length) {
      button.append(make("kbd", {}, CLASS_KEYS[i].toUpperCase()));
    }
    return button;
  });
  const none = make("button", { id: "unmark", "aria-label": "Take the mark away", title: "Take the mark away" }, "✕");
  none.append(make("kbd", {}, "Del"));
  none.hidden = classes.length === 0;
  none.disabled = true;
  none.addEventListener("click", steps.unmark);
  const add = make("button", { class: "add" }, "New class");
  add.addEventListener("click", () => edit(null));
  const all = make("button", { class: "add" }, "Edit");
  all.hidden = classes.length === 0;
  all.addEventListener("click", () => edit(classes[0]));
  place.replaceChildren(none, ...buttons, add, all);
}

/** Ask what is to become of a class. @param {Class | null} row null: a new one */
function edit(row) {
  edited = row;
  at("edit-title").textContent = row ? "Change a class" : "New class";
  at("edit-which").replaceChildren(...classOptions());
  at("edit-more").hidden = at("edit-which-part").hidden = row === null;
  at("edit-name").value = row ? row.name : "";
  at("edit-words").value = row ? row.words : "";
  if (row !== null) {
    at("edit-which").value = String(row.id);
    at("edit-color").value = row.color;
    const others = known.filter(({ id }) => id !== row.id);
    const options = others.map(({ id, name }) =>
      make("option", { value: String(id) }, `become ${name}`),
    );
    const none = make("option", { value: "" }, "go, too");
    at("edit-into").replaceChildren(none, ...options);
    const place = known.indexOf(row);
    at("edit-before").disabled = place === 0;
    at("edit-after").disabled = place === known.length - 1;
  }
  if (!at("edit").open) at("edit").showModal();
  at("edit-name").focus();
}

/** @param {Steps} steps */
export function listenToEdit(steps) {
  at("edit-form").addEventListener("submit", () => {
    const name = at("edit-name").value;
    const words = at("edit-words").value;
    if (!name.trim()) return;
    const color = edited && at("edit-color").value;
    if (edited === null) steps.add(name, words);
    else {
      const isOther = color !== edited.color;
      steps.change(edited.id, { name, words, ...(isOther ? { color } : {}) });
    }
  });
  at("edit-cancel").addEventListener("click", () => at("edit").close());
  at("edit-which").addEventListener("change", () => {
    const row = known.find(({ id }) => String(id) === at("edit-which").value);
    if (row) edit(row);
  });
  at("edit-remove").addEventListener("click", () => {
    if (edited === null) return;
    const into = at("edit-into").value;
    steps.remove(edited.id, into ? Number(into) : null);
    at("edit").close();
  });
  for (const [id, step] of /** @type {[string, number][]} */ ([["edit-before", -1], ["edit-after", 1]])) {
    at(id).addEventListener("click", () => {
      if (edited === null) return;
      const numbers = known.map((row) => row.id);
      const place = numbers.indexOf(edited.id);
      numbers.splice(place, 1);
      numbers.splice(place + step, 0, edited.id);
      steps.order(numbers);
      at("edit").close();
    });
  }
}
