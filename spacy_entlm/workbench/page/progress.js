// How far the work has come: counts, figures by class, and mistakes.

import { ends } from "./chart.js";
import { app, at, chip, counted, make } from "./dom.js";
import { open } from "./mark.js";
import { sayScores } from "./side.js";

export function showProgress() {
  const { state } = app;
  const { counts } = state;
  const { accept, reject, ignore } = counts.answers;
  const rows = [
    ["Texts", counts.texts],
    ["Accepted", accept],
    ["Of these in the test part", counts.test],
    ["Skipped", ignore],
    ["Rejected", reject],
    ["New since the last training", state.progress.new],
    ["You and the model differ", state.n_doubtful],
  ];
  at("numbers").replaceChildren(
    ...rows.map(([name, n]) => make("div", {}, make("dt", {}, name), make("dd", {}, n.toLocaleString("en")))),
  );
  const done = (accept + reject + ignore) / Math.max(1, counts.texts);
  at("done").value = done;
  at("done").textContent = `${Math.round(100 * done)} %`;
  at("next-step").textContent = state.progress.advice;
  const scores = state.trained.at(-1)?.scores;
  at("all-score").textContent = sayScores(scores);
  at("report").hidden = !state.report;
  showFigures(scores || {});
  showMistakes(scores || {});
}

/** @param {any} scores */
function showFigures(scores) {
  const { classes, counts } = app.state;
  const rows = classes.map((/** @type {any} */ row) => {
    const figure = scores.classes && scores.classes[row.id];
    const cells = [counts.marks[row.id] || 0];
    cells.push(...(figure ? [figure.value.toFixed(0), ends(figure)] : ["–", "–"]));
    const name = make("th", { scope: "row" }, tag(row));
    return make("tr", {}, name, ...cells.map((cell) => make("td", {}, String(cell))));
  });
  at("per-class").hidden = rows.length === 0;
  at("per-class").tBodies[0].replaceChildren(...rows);
}

/** @param {{name: string, color: string}} row @returns {HTMLElement} */
function tag(row) {
  const tag = make("span", { class: "tag" }, row.name);
  tag.style.setProperty("--c", row.color);
  return tag;
}

/** @param {any} scores */
function showMistakes(scores) {
  const mistakes = scores.mistakes || [];
  at("mistakes-part").hidden = mistakes.length === 0;
  const where = scores.how === "crossval" ? "the accepted texts" : "the test part";
  at("mistakes-title").textContent = `Mistakes on ${where}`;
  const items = mistakes.map((/** @type {any} */ mistake) => {
    const button = make("button", {}, `Text ${mistake.text}`);
    button.addEventListener("click", () => open(mistake.text));
    return make(
      "li",
      {},
      button,
      make("p", { dir: "auto" }, make("i", {}, "Marked: "), ...mistake.marked.map(piece)),
      make("p", { dir: "auto" }, make("i", {}, "Found: "), ...mistake.found.map(piece)),
    );
  });
  at("mistakes").replaceChildren(...items);
}

/** @param {[string, string, string]} part words, class, and whether it is right */
function piece([words, label, kind]) {
  if (!label) return words;
  const said = { right: "", missed: ", not found", wrong: ", wrong" };
  const own = chip(words, label, said[/** @type {"right"} */ (kind)]);
  own.classList.add(kind);
  return own;
}
