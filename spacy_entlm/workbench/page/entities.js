// The entities of a class: each string once, where it stands, and how to mend it.

import { call, queue, say } from "./call.js";
import { at, chip, classMap, classOptions, counted, make } from "./dom.js";
import { open } from "./mark.js";

const WAIT = 200; // milliseconds after a letter
let page = 0;
let typed = 0;

export function listenToEntities() {
  const again = () => {
    page = 0;
    at("contexts-part").hidden = true;
    showEntities();
  };
  at("entity-search").addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(again, WAIT);
  });
  at("entity-class").addEventListener("change", again);
  at("entity-mixed").addEventListener("change", again);
  for (const [id, step] of /** @type {[string, number][]} */ ([["entities-back", -1], ["entities-on", 1]])) {
    at(id).addEventListener("click", () => {
      page += step;
      showEntities();
    });
  }
}

/** Show a page of the strings of the class that is chosen. */
export function showEntities() {
  const kept = at("entity-class").value;
  at("entity-class").replaceChildren(...classOptions());
  if (classMap().has(Number(kept))) at("entity-class").value = kept;
  const number = at("entity-class").value;
  if (!number) return;
  const asked = new URLSearchParams({
    class_: number,
    words: at("entity-search").value,
    mixed: String(at("entity-mixed").checked),
    page: String(page),
  });
  queue(async () => {
    const found = await call("GET", `entities?${asked}`);
    const last = Math.min((page + 1) * found.size, found.total);
    at("entities-total").textContent = found.total
      ? `${page * found.size + 1} to ${last} of ${counted(found.total, "different entity", "different entities")}`
      : "Nothing is marked or found.";
    at("entities-pager").hidden = found.total <= found.size;
    at("entities-back").disabled = page === 0;
    at("entities-on").disabled = last >= found.total;
    at("entity-table").tBodies[0].replaceChildren(
      ...found.rows.map((/** @type {any} */ row) => showRow(row, Number(number))),
    );
  });
}

/** @param {any} row @param {number} number of the class */
function showRow(row, number) {
  const button = make("button", { dir: "auto" }, row.words);
  button.addEventListener("click", () => showContexts(row.words, number));
  const others = Object.entries(row.other).map(([name, n]) => `${name} ${n}`);
  const cells = [row.marked, row.found, others.join(", ") || "–", row.plain || "–"];
  const isMixed = others.length > 0 || row.plain > 0;
  return make(
    "tr",
    { class: isMixed && row.marked ? "mixed" : "" },
    make("th", { scope: "row" }, button),
    ...cells.map((cell) => make("td", {}, String(cell))),
  );
}

/** Show where a string stands. @param {string} words @param {number} number */
function showContexts(words, number) {
  return queue(async () => {
    const found = await call("GET", `contexts?${new URLSearchParams({ words })}`);
    const own = found.rows.filter((/** @type {any} */ row) => !row.is_found);
    const texts = [...new Set(own.map((/** @type {any} */ row) => row.text))];
    at("contexts-part").hidden = false;
    at("contexts-title").textContent = words;
    const shown = found.total > found.rows.length ? `, the first ${found.rows.length} of them here` : "";
    const changed = texts.length
      ? `What you choose here changes the ${counted(texts.length, "text")} that you ` +
        "marked; the model's suggestions in others stay."
      : "You have marked none of these texts yet: the model suggests it.";
    at("contexts-total").textContent =
      `It stands in ${counted(found.total, "place")}${shown}. ${changed}`;
    at("mend-class").replaceChildren(...classOptions());
    at("mend-class").value = String(number);
    at("mend").disabled = at("unmend").disabled = texts.length === 0;
    const mend = (/** @type {number | null} */ class_) =>
      queue(async () => {
        const n = await call("POST", "mend", { words, class: class_, texts });
        showEntities();
        showContexts(words, number).then(() => say(`${counted(n, "text")} changed; Undo takes it back`));
      });
    at("mend").onclick = () => mend(Number(at("mend-class").value));
    at("unmend").onclick = () => mend(null);
    at("contexts").replaceChildren(...found.rows.map(showContext));
    at("contexts-part").scrollIntoView({ block: "nearest" });
  });
}

/** @param {any} row */
function showContext(row) {
  const inside = row.class !== null && classMap().has(row.class);
  const how = row.is_found ? " suggested" : row.is_longer ? " within a longer mark" : "";
  const middle = inside ? chip(row.words, row.class, how) : make("mark", {}, row.words);
  const button = make("button", {}, `Text ${row.text}`);
  button.addEventListener("click", () => open(row.text));
  return make("li", {}, make("p", { dir: "auto" }, row.before, middle, row.after), button);
}
