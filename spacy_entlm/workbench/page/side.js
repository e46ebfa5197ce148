// What stands beside the text: the training, and how good it is.

import { curve, ends } from "./chart.js";

/** @param {string} id @returns {any} */
const at = (id) => document.getElementById(id);

/** What runs, and how long it may take. @param {any} state */
export function showRun(state) {
  const run = state.run;
  at("train").disabled = state.running;
  at("progress").hidden = !state.running;
  at("wheel").disabled = state.running || !state.model;
  if (run === null) return;
  at("progress").value = run.done;
  const left = run.seconds_left === null ? "" : `, ${Math.round(run.seconds_left)} s left`;
  const what = { look: "First look", train: "Training", wheel: "Wheel" }[
    /** @type {"look" | "train" | "wheel"} */ (run.kind)
  ];
  const how = { running: `runs${left}`, done: "done", failed: run.message };
  const killed = `${run.message}: start it again`;
  at("run").textContent = `${what}: ${how[/** @type {"done"} */ (run.state)] || killed}`;
}

/**
 * Figures of the trainings, by class, and mistakes.
 * @param {any} state @param {(text: number) => unknown} open shows a text
 */
export function showScores(state, open) {
  const points = state.trained
    .filter((/** @type {any} */ run) => run.scores && run.scores.f1)
    .map((/** @type {any} */ run) => ({ n: run.n_examples, f1: run.scores.f1 }));
  const last = state.trained[state.trained.length - 1];
  const scores = last && last.scores;
  at("score").textContent =
    !scores || !scores.f1 // no text of the test part has an answer
      ? "Each tenth text is kept for the test part: train when some are answered."
      : `F1 ${scores.f1.value.toFixed(1)} (95 %: ${ends(scores.f1)}) on ${scores.n_test} test texts`;
  if (points.length) at("chart").replaceChildren(curve(points));
  const rows = state.classes.map((/** @type {any} */ row) => {
    const figure = scores && scores.classes && scores.classes[row.id];
    const cells = [row.name, state.counts.marks[row.id] || 0];
    cells.push(...(figure ? [figure.value.toFixed(0), ends(figure)] : ["–", "–"]));
    const line = document.createElement("tr");
    line.append(...cells.map((cell) => make("td", String(cell))));
    return line;
  });
  at("per-class").hidden = rows.length === 0;
  at("per-class").tBodies[0].replaceChildren(...rows);
  const mistakes = (scores && scores.mistakes) || [];
  at("mistakes-part").hidden = mistakes.length === 0;
  at("mistakes").replaceChildren(...mistakes.map((/** @type {any} */ mistake) => showMistake(mistake, open)));
}

/** @param {string} name @param {string} words */
function make(name, words) {
  return Object.assign(document.createElement(name), { textContent: words });
}

/** @param {any} mistake @param {(text: number) => unknown} open */
function showMistake(mistake, open) {
  const item = document.createElement("li");
  const said = { missed: "not found", wrong: "found wrongly" }[
    /** @type {"missed"} */ (mistake.kind)
  ];
  const button = make("button", mistake.words);
  button.addEventListener("click", () => open(mistake.text));
  item.append(button, ` ${mistake.label}, ${said}`);
  return item;
}
