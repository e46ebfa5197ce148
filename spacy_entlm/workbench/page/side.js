// What stands beside the text: the training, and how good it is.

import { curve, ends } from "./chart.js";
import { at, counted } from "./dom.js";

const WHAT = { look: "Looking by the names", train: "Training", after: "Reading all texts", wheel: "Wheel" };

/** What runs, and how long it may take. @param {any} state */
export function showRun(state) {
  const run = state.run;
  const isBusy = state.running && !["look", "after"].includes(run.kind);
  at("train").disabled = isBusy;
  const isNew = state.progress.new > 0;
  at("n-new").textContent = isNew ? `: ${counted(state.progress.new, "new answer")}` : "";
  at("advice").textContent = state.progress.advice;
  at("progress").hidden = !state.running;
  at("wheel").disabled = isBusy || !state.model;
  if (run === null) return;
  at("progress").value = run.done;
  const left = run.seconds_left === null ? "" : `, ${left_(run.seconds_left)} left`;
  const what = WHAT[/** @type {"look"} */ (run.kind)];
  const how = {
    running: `runs${left}`,
    done: "done",
    stopped: "stopped, since something else began",
    failed: run.message,
    killed: `${run.message}: start it again`,
  };
  at("run").textContent = `${what}: ${how[/** @type {"done"} */ (run.state)]}`;
}

/** @param {number} seconds */
const left_ = (seconds) =>
  seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} minutes`;

/** Figures of the trainings. @param {any} state */
export function showScores(state) {
  const points = state.trained
    .filter((/** @type {any} */ run) => run.scores && run.scores.f1)
    .map((/** @type {any} */ run) => ({ n: run.n_examples, f1: run.scores.f1 }));
  at("score").textContent = sayScores(state.trained.at(-1)?.scores);
  at("unseen").textContent = sayUnseen(state);
  if (points.length > 1) at("chart").replaceChildren(curve(points));
}

/** What the trained model makes of classes without an example. @param {any} state */
function sayUnseen(state) {
  const scores = state.trained.at(-1)?.scores || {};
  const names = new Map(state.classes.map((/** @type {any} */ row) => [row.id, row.name]));
  const called = (/** @type {number[]} */ numbers) =>
    (numbers || []).map((number) => names.get(number)).filter(Boolean).join(", ");
  const [unseen, leftOut] = [called(scores.unseen), called(scores.left_out)];
  return [
    unseen ? `Without an example, found by what the name says: ${unseen}.` : "",
    leftOut ? `Not found, without an example and with a name that says nothing: ${leftOut}.` : "",
  ].filter(Boolean).join(" ");
}

/** What is known of how good the model is, in a sentence. @param {any} scores */
export function sayScores(scores) {
  if (!scores) return "Each tenth text is kept for the test part. Train to see a figure.";
  if (!scores.f1) return scores.missing || "The figure is being measured.";
  const figure = `F1 ${scores.f1.value.toFixed(1)} (95 %: ${ends(scores.f1)})`;
  if (scores.how === "crossval") {
    const texts = counted(scores.n_texts, "accepted text");
    return `${figure}, by leaving each part of ${texts} out in turn`;
  }
  const entities = counted(scores.n_entities, "entity", "entities");
  return `${figure} on ${counted(scores.n_test, "test text")} with ${entities}`;
}
