// What all parts of the page use: elements, and what is known of the workbench.

// What the server said last of all but the texts.
export const app = { state: /** @type {any} */ (null) };

/** @param {string} id @returns {any} */
export const at = (id) => document.getElementById(id);

/**
 * Make an element.
 * @param {string} name @param {Record<string, any>} [values] its properties; "class"
 * and those with "-" are attributes @param {any[]} children elements or text
 * @returns {any}
 */
export function make(name, values = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(values)) {
    if (key === "class" || key.includes("-")) element.setAttribute(key, value);
    else /** @type {any} */ (element)[key] = value;
  }
  element.append(...children);
  return element;
}

/** @param {number} number @param {string} one @param {string} [many] */
export function counted(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** @param {number | null} sure */
export const percent = (sure) => (sure === null ? "list" : `${Math.round(100 * sure)} %`);

/** The classes by number. @returns {Map<number, {name: string, color: string}>} */
export function classMap() {
  const rows = app.state ? app.state.classes : [];
  return new Map(rows.map((/** @type {any} */ row) => [row.id, row]));
}

/** The classes, to choose from: by number. @returns {HTMLElement[]} */
export function classOptions() {
  return app.state.classes.map((/** @type {any} */ row) =>
    make("option", { value: String(row.id) }, row.name),
  );
}

/**
 * Words of a class, in its colour.
 * @param {string} words @param {number | string} number of the class, or its name
 * @param {string} [more]
 */
export function chip(words, number, more = "") {
  const known =
    classMap().get(/** @type {number} */ (number)) ||
    [...classMap().values()].find((row) => row.name === number);
  const chip = make("span", { class: "chip", dir: "auto" }, words);
  chip.append(make("b", {}, `${known ? known.name : number}${more}`));
  chip.style.setProperty("--c", known ? known.color : "#dddddd");
  return chip;
}
