// The player: one moment (a time, and the number of steps until then), shown by all views and panels.
const body = document.body;
body.dataset.errors = "0";
addEventListener("error", () => { body.dataset.errors = String(Number(body.dataset.errors) + 1); });

const data = localized(JSON.parse(document.getElementById("trace").textContent));
const scale = timeScale(data.places);
const stepCount = data.steps.length;
const PACE = 1.1; // message times per second at speed 1
const byId = (id) => document.getElementById(id);
const slider = byId("slider"), clock = byId("clock"), playButton = byId("play"), speed = byId("speed");

headline(data);
const views = { spacetime: spaceTimeView(data, scale), network: networkView(data) };
const BOXES = { spacetime: byId("view"), network: byId("network") };
let viewName = "spacetime";
const showNow = nowPanel(data), showProcesses = processPanel(data);
verdictPanel(data, (at) => { pause(); goToTime(at); });
for (const view of Object.values(views)) view.onPick = (time) => { pause(); goToTime(time); };

let time = data.end, step = stepCount, whole = true, playing = false, before = 0;
const share = (at) => (scale.y(at) - scale.y(0)) / Math.max(scale.y(data.end) - scale.y(0), 1e-9);
const startOf = (number) => data.events[data.steps[number - 1][0]].at;

function stepAt(at) {
  let low = 0, high = stepCount;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (startOf(middle) <= at) low = middle; else high = middle - 1;
  }
  return low;
}

let lives = [], shownStep = -1;

function show(follow = true) {
  const [first, last] = step ? data.steps[step - 1] : [-1, -1];
  const wrong = new Set();
  for (const verdict of data.verdicts) {
    for (const [column, start, end] of verdict.spans) if (start <= time && time <= end) wrong.add(column);
  }
  if (step !== shownStep) lives = livesAfter(data, last + 1);
  const acting = step ? data.events[first].p : -1;
  const since = step ? startOf(step) : 0;
  const moment = { time, since, step, first, last, whole, follow, playing, wrong, lives, acting };
  views[viewName].show(moment);
  if (step !== shownStep) showNow(moment);
  showProcesses(moment);
  shownStep = step;
  slider.value = 1000 * share(time);
  const ms = milliseconds(time);
  clock.textContent = fill(words.clock, { ms, step, steps: stepCount });
  slider.setAttribute("aria-valuetext", clock.textContent);
  Object.assign(body.dataset, { step, steps: stepCount, time: ms, playing: String(playing), view: viewName });
}

function useView(name) {
  viewName = name;
  for (const [other, box] of Object.entries(BOXES)) {
    box.hidden = other !== name;
    byId("tab-" + other).setAttribute("aria-selected", String(other === name));
  }
}

function changeView(name) { useView(name); show(!whole); }
for (const name of Object.keys(views)) {
  byId("tab-" + name).textContent = name === "network" ? words.shape[data.network.shape] : words[name];
  byId("tab-" + name).title = words.change;
  byId("tab-" + name).addEventListener("click", () => changeView(name));
  BOXES[name].setAttribute("aria-label", words[name]);
}

function goToStep(number) {
  step = Math.min(Math.max(number, 0), stepCount);
  time = step ? startOf(step) : 0;
  whole = false;
  show();
}

function goToTime(at, follow = true) {
  time = Math.min(Math.max(at, 0), data.end);
  step = stepAt(time);
  whole = false;
  show(follow);
}

function play() {
  if (time >= data.end) goToStep(0);
  playing = true;
  before = performance.now();
  playButton.title = words.pause;
  body.dataset.playing = "true";
  requestAnimationFrame(frame);
}

function pause() {
  playing = false;
  playButton.title = words.play;
  body.dataset.playing = "false";
}

function frame(now) {
  if (!playing) return;
  const passed = Math.min((now - before) / 1000, 0.25);
  before = now;
  const y = scale.y(time) + passed * PACE * Number(speed.value) * data.places.unit;
  goToTime(scale.at(y));
  if (time >= data.end) { pause(); whole = true; show(false); } else requestAnimationFrame(frame);
}

function act(does) { return () => { pause(); does(); }; }
const ACTIONS = {
  first: act(() => goToStep(0)), back: act(() => goToStep(whole ? stepCount : step - 1)),
  play: () => (playing ? pause() : play()),
  next: act(() => (whole ? goToStep(1) : goToStep(step + 1))), last: act(() => goToStep(stepCount)),
};
const otherView = () => changeView(viewName === "network" ? "spacetime" : "network");
for (const [name, action] of Object.entries(ACTIONS)) {
  byId(name).title = words[name];
  byId(name).setAttribute("aria-label", words[name]);
  byId(name).addEventListener("click", action);
}
slider.setAttribute("aria-label", words.time);
slider.addEventListener("input", () => {
  pause();
  goToTime(scale.at(scale.y(0) + slider.value / 1000 * (scale.y(data.end) - scale.y(0))));
});

const KEYS = { " ": "play", ArrowRight: "next", ArrowLeft: "back", Home: "first", End: "last" };
addEventListener("keydown", (event) => {
  const action = event.key === "v" ? otherView : ACTIONS[KEYS[event.key]];
  if (!action || event.ctrlKey || event.altKey || event.metaKey || event.target === speed) return;
  event.preventDefault();
  if (event.target instanceof HTMLButtonElement) event.target.blur();
  action();
});

// The times of violations, above the slider.
for (const verdict of data.verdicts) {
  if (verdict.at === null) continue;
  const mark = make("i");
  mark.style.left = 100 * share(verdict.at) + "%";
  mark.title = verdict.title;
  byId("marks").append(mark);
}

// #step=12 and #t=3.5 (in ms) open the page at a moment, #view=network in the other view.
function followHash() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  useView(Object.hasOwn(views, wanted.get("view")) ? wanted.get("view") : viewName);
  if (wanted.has("step")) goToStep(Number(wanted.get("step")) || 0);
  else if (wanted.has("t")) goToTime((Number(wanted.get("t")) || 0) * 1000);
  else show(false);
}
addEventListener("hashchange", () => { pause(); followHash(); });
followHash();
body.dataset.ready = "true";
