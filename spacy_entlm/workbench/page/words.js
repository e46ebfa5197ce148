// Words are chosen with the mouse, a finger or a pen.

import { at } from "./dom.js";
import { focusWord, letGo, select, setFocused, shown } from "./mark.js";
import { markAt } from "./marks.js";

let isDragging = false;

/** The word under a pointer; a gap counts as the word before it. @param {any} event */
function wordUnder(event) {
  const found = document.elementFromPoint(event.clientX, event.clientY);
  const element = found && found.closest("[data-word], [data-gap]");
  if (!(element instanceof HTMLElement) || !at("text").contains(element)) return null;
  return Number(element.dataset.word ?? element.dataset.gap);
}

/** @param {PointerEvent} event */
function begin(event) {
  const word = wordUnder(event);
  if (word === null || event.button !== 0) return;
  event.preventDefault();
  const { marks, selection } = shown;
  const touched = event.pointerType === "touch" && selection !== null;
  const extends_ = event.shiftKey || (touched && !markAt(marks, word));
  const own = markAt(marks, word);
  const { start, end } = selection || { start: 0, end: 0 };
  // Again at what ends it, or at a mark, lets go; within, it becomes shorter.
  const isEnd = word === (shown.anchor === start ? end - 1 : start);
  const letsGo = touched && start <= word && word < end && (own || isEnd);
  if (!extends_) shown.anchor = word;
  isDragging = !letsGo;
  focusWord(word);
  if (letsGo) letGo();
  else if (own && !extends_) select(own[0], own[1] - 1);
  else select(shown.anchor, word);
  at("text").setPointerCapture(event.pointerId);
}

export function listenToPointers() {
  const place = at("text");
  place.addEventListener("pointerdown", begin);
  place.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    const word = isDragging ? wordUnder(event) : null;
    if (word !== null && word !== shown.anchor) select(shown.anchor, word);
  });
  // Also where a screen reader moves it.
  place.addEventListener("focusin", (/** @type {any} */ event) =>
    setFocused(Number(event.target.dataset.word)),
  );
  for (const end of ["pointerup", "pointercancel"]) {
    place.addEventListener(end, () => (isDragging = false));
  }
}
