// All texts: a list to search in, from which each text is one click away.

import { call, queue } from "./call.js";
import { at, chip, classOptions, counted, make, percent } from "./dom.js";
import { ANSWERS, open } from "./mark.js";

const KINDS = {
  all: "All",
  new: "Not answered",
  begun: "Begun",
  done: "Accepted",
  skipped: "Skipped",
  rejected: "Rejected",
  disagreements: "Disagreements",
  test: "Test part",
};
const WAIT = 200; // milliseconds after a letter
let page = 0;
let typed = 0;

export function listenToTexts() {
  const again = () => {
    page = 0;
    showTexts();
  };
  at("search").addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(again, WAIT);
  });
  for (const id of ["list-kind", "list-class", "list-below", "list-order"]) {
    at(id).addEventListener("change", again);
  }
  for (const [id, step] of /** @type {[string, number][]} */ ([["list-back", -1], ["list-on", 1]])) {
    at(id).addEventListener("click", () => {
      page += step;
      showTexts();
      scrollTo({ top: 0 });
    });
  }
}

/** Show a page of the list. */
export function showTexts() {
  const kept = at("list-class").value;
  const any = make("option", { value: "0" }, "any class");
  at("list-class").replaceChildren(any, ...classOptions());
  at("list-class").value = kept || "0";
  if (!at("list-kind").value) showKinds({});
  const asked = new URLSearchParams({
    words: at("search").value,
    kind: at("list-kind").value || "all",
    class_: at("list-class").value || "0",
    below: at("list-below").value,
    order: at("list-order").value,
    page: String(page),
  });
  queue(async () => {
    const found = await call("GET", `list?${asked}`);
    showKinds(found.kinds);
    const first = page * found.size;
    const last = Math.min(first + found.size, found.total);
    at("list-total").textContent = found.total
      ? `${first + 1} to ${last} of ${counted(found.total, "text")}`
      : "No text is like this.";
    at("list-pager").hidden = found.total <= found.size;
    at("list-back").disabled = page === 0;
    at("list-on").disabled = last >= found.total;
    at("list").replaceChildren(...found.rows.map(showRow));
  });
}

/** @param {Record<string, number>} counts of the texts of each kind */
function showKinds(counts) {
  const kept = at("list-kind").value || "all";
  const options = Object.entries(KINDS).map(([kind, name]) =>
    make("option", { value: kind }, counts[kind] === undefined ? name : `${name} (${counts[kind].toLocaleString("en")})`),
  );
  at("list-kind").replaceChildren(...options);
  at("list-kind").value = kept;
}

/** @param {any} row */
function showRow(row) {
  const facts = [
    ANSWERS[/** @type {"open"} */ (row.answer)],
    row.is_begun ? "begun" : "",
    row.is_test ? "test part" : "",
    row.differs ? "disagreement" : "",
  ].filter(Boolean);
  const marks = row.marks.map(([words, number, sure]) =>
    chip(words, number, sure === null ? "" : ` ${percent(sure)}`),
  );
  const button = make(
    "button",
    {},
    make("span", { class: "number" }, String(row.id)),
    make("span", { dir: "auto" }, row.text),
    make("span", { class: "facts" }, facts.join(", ")),
    make("span", { class: "chips" }, ...marks),
  );
  button.addEventListener("click", () => open(row.id));
  return make("li", {}, button);
}
