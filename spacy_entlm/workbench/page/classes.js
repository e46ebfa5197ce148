// The classes: a button each, and a small form for a name.

export const N_COLORS = 9;

/** @typedef {{id: number, name: string}} Class */
/**
 * @typedef {object} Steps
 * @property {(number: number) => unknown} mark
 * @property {(name: string) => Promise<unknown>} add
 * @property {(number: number, name: string) => Promise<unknown>} rename
 * @property {() => unknown} done shows the buttons again
 */

/** @param {HTMLElement} place */
export const isAsking = (place) => place.querySelector("form") !== null;

/**
 * @param {HTMLElement} place @param {Class[]} classes @param {Steps} steps
 */
export function showClasses(place, classes, steps) {
  /** @param {string} name @param {(name: string) => Promise<unknown>} send */
  const ask = (name, send) => askName(place, name, send, steps.done);
  const buttons = classes.map((row, i) => {
    const color = `c${(row.id - 1) % N_COLORS}`;
    const button = makeButton(row.name, color, () => steps.mark(row.id));
    button.title = "Double click, or F2: another name";
    const rename = () => ask(row.name, (name) => steps.rename(row.id, name));
    button.addEventListener("dblclick", rename);
    button.addEventListener("keydown", (event) => event.key === "F2" && rename());
    if (i < 9) {
      const key = document.createElement("kbd");
      key.textContent = String(i + 1);
      button.append(key);
    }
    return button;
  });
  const add = makeButton("New class", "add", () => ask("", steps.add));
  place.replaceChildren(...buttons, add);
}

/**
 * Show a form in place of the buttons.
 * @param {HTMLElement} place @param {string} name
 * @param {(name: string) => Promise<unknown>} send @param {() => unknown} done
 */
function askName(place, name, send, done) {
  const form = document.createElement("form");
  const input = document.createElement("input");
  const button = document.createElement("button");
  input.value = name;
  input.maxLength = 100;
  input.setAttribute("aria-label", "Name of the class");
  button.textContent = "Save";
  form.append(input, button);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) send(input.value);
    done();
  });
  form.addEventListener("keydown", (event) => event.key === "Escape" && done());
  place.replaceChildren(form);
  input.focus();
}

/** @param {string} words @param {string} kind @param {() => unknown} onClick */
function makeButton(words, kind, onClick) {
  const button = document.createElement("button");
  button.textContent = words;
  button.className = kind;
  button.addEventListener("click", onClick);
  return button;
}
