// Calls to the server, one after the other, and what is said of them.

import { at } from "./dom.js";

const GONE = "The server does not answer: start it again";
const token = location.hash.slice(1);
/** @type {Promise<unknown>} */ let last = Promise.resolve();
// What is done when somebody else changed what was to be changed.
export const onConflict = { run: async () => {} };

/**
 * Call the server.
 * @param {string} method @param {string} path @param {object} [body]
 */
export async function call(method, path, body) {
  const headers = { "x-workbench-token": token, "content-type": "application/json" };
  const content = body === undefined ? undefined : JSON.stringify(body);
  const sent = await fetch(`/api/${path}`, { method, headers, body: content });
  const answer = await sent.json();
  if (at("status").textContent === GONE) say("");
  if (sent.ok) return answer;
  const detail = answer.detail;
  const said = typeof detail === "string" ? detail : "The server refused this";
  throw Object.assign(new Error(said), { status: sent.status });
}

/** @param {string} words @param {boolean} [isWrong] */
export function say(words, isWrong = false) {
  at("status").textContent = words;
  at("status").classList.toggle("wrong", isWrong);
}

/** Run something, and say what went wrong. @param {() => Promise<unknown>} step */
async function attempt(step) {
  try {
    await step();
  } catch (error) {
    const problem = /** @type {any} */ (error);
    say(problem.status === undefined ? GONE : problem.message, true);
    if (problem.status === 409) await onConflict.run();
  }
}

/** One after the other, so that nothing overtakes. @param {() => Promise<unknown>} step */
export function queue(step) {
  last = last.then(() => attempt(step));
  return last;
}
