// Which texts and entities of the page are shown: by class, confidence and words.
const at = (id) => document.getElementById(id);
const more = at("more");
const all = [...at("texts").children, ...(more ? more.content.children : [])];
// Of a mark the words alone, without its class and figure.
const own = (node) => (node.nodeName === "MARK" ? node.firstChild : node).textContent;
const words = all.map((text) => [...text.childNodes].map(own).join("").toLowerCase());
const boxes = [...document.querySelectorAll("input[data-class]")];
let page = 0;

function show() {
  const least = Number(at("least").value) / 100;
  const wanted = new Set(boxes.filter((x) => x.checked).map((x) => x.dataset.class));
  const asked = at("words").value.trim().toLowerCase();
  const isOn = (mark) =>
    wanted.has(mark.dataset.class) && Number(mark.dataset.sure ?? 1) >= least;
  const found = all.filter((text, i) => {
    if (asked && !words[i].includes(asked)) return false;
    return !at("some").checked || [...text.querySelectorAll("mark")].some(isOn);
  });
  page = Math.max(0, Math.min(page, Math.ceil(found.length / SIZE) - 1));
  const shown = found.slice(page * SIZE, (page + 1) * SIZE);
  for (const text of shown) {
    for (const mark of text.querySelectorAll("mark")) {
      mark.classList.toggle("off", !isOn(mark));
    }
  }
  at("texts").replaceChildren(...shown);
  at("now").textContent = `${at("least").value} %`;
  const last = page * SIZE + shown.length;
  at("total").textContent = shown.length
    ? `${page * SIZE + 1} to ${last} of ${found.length.toLocaleString("en")} texts`
    : "No text is like this.";
  at("pages").hidden = found.length <= SIZE;
  at("back").disabled = page === 0;
  at("on").disabled = last >= found.length;
}

function turn(step) {
  page += step;
  show();
  scrollTo({ top: 0 });
}

for (const input of [...boxes, at("least"), at("some"), at("words")]) {
  input.addEventListener("input", () => {
    page = 0;
    show();
  });
}
at("back").addEventListener("click", () => turn(-1));
at("on").addEventListener("click", () => turn(1));
at("tools").hidden = false;
show();
