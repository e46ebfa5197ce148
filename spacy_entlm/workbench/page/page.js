// The page of the workbench: its views, and what its buttons do.

import { call, onConflict, queue, say } from "./call.js";
import { listenToEdit, showClasses } from "./classes.js";
import { app, at, counted, make } from "./dom.js";
import { listenToEntities, showEntities } from "./entities.js";
import { listenToKeys } from "./keys.js";
import {
  answer, backToText, change, mark, move, open, refresh, show, showFacts, showOver,
  shown, steps, takeBack, takeLeast, turn, unmark,
} from "./mark.js";
import { showProgress } from "./progress.js";
import { showRun, showScores } from "./side.js";
import { listenToTexts, showTexts } from "./texts.js";
import { listenToPointers } from "./words.js";

const BUSY = 1000; // milliseconds between looks at a training that runs
const CALM = 4000;
const VIEWS = ["mark", "texts", "entities", "work"];

/** Show one of the views. @param {string} name */
function goTo(name) {
  say("");
  for (const view of VIEWS) {
    at(view).hidden = view !== name;
    const isThis = view === name ? "page" : "false";
    at(`to-${view}`).setAttribute("aria-current", isThis);
  }
  if (name === "texts") showTexts();
  if (name === "entities") showEntities();
  if (name === "work") showProgress();
}

/** Show the view after the one that is shown. */
function goOn() {
  const now = VIEWS.findIndex((view) => !at(view).hidden);
  const next = VIEWS[(now + 1) % VIEWS.length];
  goTo(next);
  if (next === "mark") backToText();
  else at(`to-${next}`).focus();
}

/** Look at all but the text. */
async function look() {
  const before = app.state;
  app.state = await call("GET", "state");
  const { state } = app;
  const { answers, texts } = state.counts;
  const done = answers.accept + answers.reject + answers.ignore;
  at("counts").textContent = `${done.toLocaleString("en")} of ${counted(texts, "text")} answered`;
  at("order").value = state.order;
  if (document.activeElement !== at("least")) showLeast(state.least);
  at("check").disabled = state.n_doubtful === 0;
  at("check").textContent = `Look again at disagreements (${state.n_doubtful})`;
  if (state.running && state.run.kind === "wheel") {
    at("built").textContent = "A wheel is being built.";
  } else if (state.wheels) at("built").textContent = `The wheel is in ${state.wheels}`;
  const isOther = JSON.stringify(before && before.classes) !== JSON.stringify(state.classes);
  if (isOther) showClasses(at("classes"), state.classes, classSteps);
  if (isOther) refresh();
  if (!at("form").value) showForms(state.forms);
  showRun(state);
  showScores(state);
  showFacts();
  showOver();
  if (!at("work").hidden) showProgress();
  return before !== null && before.running && !state.running;
}

/** @param {[string, string][]} forms in which data can be written, and their titles */
function showForms(forms) {
  const options = forms.map(([value, title]) => make("option", { value }, title));
  at("form").replaceChildren(...options);
}

/** @param {number} least */
function showLeast(least) {
  at("least").value = String(Math.round(100 * least));
  at("least-now").textContent = `${Math.round(100 * least)} %`;
}

async function poll() {
  await queue(async () => {
    const ran = app.state && app.state.run;
    const isOver = await look();
    const isOther = ran && app.state.run.id !== ran.id;
    const { text } = shown;
    // What the new model proposes is shown where nothing was marked yet.
    const isUntouched = text && !text.version && shown.selection === null;
    const isFirst = isUntouched && !text.proposed.length && app.state.running;
    if ((isOver || isOther) && isUntouched) show(await call("GET", "next"), false);
    else if (isFirst) await renew();
    else if (text === null) show(await call("GET", "next"), !document.activeElement?.closest("input, select, dialog"));
  });
  setTimeout(poll, app.state && app.state.running ? BUSY : CALM);
}

/** Show what was found in this text in the meantime. */
async function renew() {
  const now = await call("GET", `texts/${shown.text.id}`);
  if (now.proposed.length) show(now, false);
}

/** Take the last change back, or do it again. @param {"undo" | "redo"} way */
function goBack(way) {
  return queue(async () => {
    const done = await call("POST", way);
    await look();
    if (done === null) {
      return say(way === "undo" ? "There is nothing to take back" : "There is nothing to do again");
    }
    const isText = ["answer", "move"].includes(done.kind) && done.n === 1;
    if (isText && !at("mark").hidden) show(await call("GET", `texts/${done.target}`));
    else if (shown.text) show(await call("GET", `texts/${shown.text.id}`), false);
    if (!at("texts").hidden) showTexts();
    if (!at("entities").hidden) showEntities();
    say(way === "undo" ? "Taken back" : "Done again");
  });
}

function train() {
  queue(async () => {
    await call("POST", "train");
    say("Training began: go on marking");
    await look();
  });
  backToText();
}

/** Do something with classes, and show what became of it. @param {() => Promise<unknown>} step */
function withClasses(step) {
  queue(async () => {
    await step();
    await look();
    if (shown.text) show(await call("GET", `texts/${shown.text.id}`));
  });
}

const classSteps = {
  mark: (/** @type {number} */ number) => {
    mark(number);
    backToText();
  },
  unmark: () => {
    unmark();
    backToText();
  },
  add: (/** @type {string} */ name, /** @type {string} */ words) =>
    withClasses(async () => {
      const number = await call("POST", "classes", { name });
      if (words.trim()) await call("PUT", `classes/${number}`, { words });
    }),
  change: (/** @type {number} */ number, /** @type {object} */ values) =>
    withClasses(() => call("PUT", `classes/${number}`, values)),
  remove: (/** @type {number} */ number, /** @type {number | null} */ into) =>
    withClasses(async () => {
      const n = await call("POST", `classes/${number}/remove`, { into });
      say(`The class is gone, ${counted(n, "text")} changed: Undo takes it back`);
    }),
  order: (/** @type {number[]} */ numbers) =>
    withClasses(() => call("PUT", "classes/order", { numbers })),
};

/** @param {string} id @param {() => unknown} step */
const onClick = (id, step) => at(id).addEventListener("click", step);

function listenToSide() {
  onClick("train", train);
  onClick("wheel", () => {
    queue(async () => (await call("POST", "wheel"), look()));
    backToText();
  });
  onClick("check", () => open(app.state.doubtful[0]));
  onClick("report", () => {
    const tab = window.open("about:blank"); // at once, else browsers block it
    queue(async () => {
      const ticket = await call("POST", "report");
      if (tab) tab.location.href = `/report/${ticket}`;
    });
  });
  onClick("export", () => {
    queue(async () => {
      const form = at("form").value;
      const { files, folder } = await call("POST", "export", { form });
      at("written").textContent = files.length
        ? `${files.join(", ")} in ${folder}`
        : "There is nothing to write yet.";
    });
    backToText();
  });
  at("order").addEventListener("change", () => {
    queue(async () => {
      await call("PUT", "order", { order: at("order").value });
      await look();
    });
    backToText();
  });
  at("least").addEventListener("input", () => {
    app.state.least = Number(at("least").value) / 100;
    at("least-now").textContent = `${at("least").value} %`;
    takeLeast();
  });
  at("least").addEventListener("change", () => {
    queue(() => call("PUT", "least", { least: Number(at("least").value) / 100 }));
    backToText();
  });
}

function start() {
  steps.look = async () => void (await look());
  steps.goTo = goTo;
  onConflict.run = async () => {
    if (shown.text) show(await call("GET", `texts/${shown.text.id}`));
  };
  listenToPointers();
  listenToKeys({ undo: () => goBack("undo"), redo: () => goBack("redo"), train, view: goOn });
  listenToEdit(classSteps);
  listenToTexts();
  listenToEntities();
  listenToSide();
  const clicks = { accept: "accept", skip: "ignore", reject: "reject" };
  for (const [id, kind] of Object.entries(clicks)) onClick(id, () => answer(kind));
  onClick("clear", () => {
    change([]);
    backToText();
  });
  onClick("undo", () => goBack("undo"));
  onClick("redo", () => goBack("redo"));
  onClick("before", () => turn(-1));
  onClick("after", () => turn(1));
  onClick("back", takeBack);
  onClick("move", move);
  for (const view of VIEWS) onClick(`to-${view}`, () => goTo(view));
  for (const view of VIEWS) if (view !== "mark") at(view).hidden = true;
  poll();
}

start();
