// The slider moves a line through the picture. Beside it are the current action of each thread and the lines printed so far.
const STRINGS = {
  en: { threads: "Threads", printed: "Printed", runs: "runs", works: "works: {words}", waits: "is blocked on {words}", holds: "holds {words}", sleeps: "sleeps", none: "—" },
  pt: { threads: "Threads", printed: "Impresso", runs: "executa", works: "trabalha: {words}", waits: "bloqueado em {words}", holds: "detém {words}", sleeps: "dorme", none: "—" },
};
const asked = new URLSearchParams(location.hash.slice(1)).get("lang") ?? navigator.language ?? "en";
const language = asked.toLowerCase().startsWith("pt") ? "pt" : "en";
const words = STRINGS[language];
document.documentElement.lang = language;
const data = JSON.parse(document.getElementById("timeline").textContent);
document.getElementById("threads-title").textContent = words.threads;
document.getElementById("printed-title").textContent = words.printed;

function item(list, who) {
  const made = document.createElement("li"), name = document.createElement("b"), text = document.createElement("span");
  name.textContent = who;
  made.append(name, text);
  list.append(made);
  return { made, text };
}
const threads = data.lanes.map((who) => ({ who, ...item(document.getElementById("threads"), who) }));
const lines = data.printed.map((one) => {
  const made = item(document.getElementById("printed"), one.who);
  made.text.textContent = one.line;
  return { at: one.at, made: made.made };
});
const picture = document.querySelector("#picture svg");
const edge = picture.querySelector("line.edge");
const left = Number(edge.getAttribute("x1"));
const playhead = document.createElementNS("http://www.w3.org/2000/svg", "line");
playhead.setAttribute("class", "playhead");
playhead.setAttribute("y1", edge.getAttribute("y1"));
playhead.setAttribute("y2", edge.getAttribute("y2"));
picture.append(playhead);
const slider = document.getElementById("slider"), clock = document.getElementById("clock");
const RANK = { runs: 0, works: 1, holds: 1, sleeps: 2, waits: 3 }, WIDTH = 900;

function show() {
  const part = slider.value / 1000, now = data.start + (data.end - data.start) * part, x = left + WIDTH * part;
  playhead.setAttribute("x1", x);
  playhead.setAttribute("x2", x);
  clock.textContent = (now / 1000).toFixed(now < 100000 ? 3 : 0) + " ms";
  const current = new Map();
  for (const state of data.states) {
    if (state.from > now || state.to < now) continue;
    const other = current.get(state.who);
    if (!other || RANK[state.kind] > RANK[other.kind]) current.set(state.who, state);
  }
  for (const { who, made, text } of threads) {
    const state = current.get(who);
    text.textContent = state ? words[state.kind].replace("{words}", state.words) : words.none;
    made.classList.toggle("now", Boolean(state) && state.kind !== "runs");
  }
  for (const { at, made } of lines) made.classList.toggle("later", at > now);
}
slider.addEventListener("input", show);
show();
