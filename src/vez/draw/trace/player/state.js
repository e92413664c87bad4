// The contents of the trace: its words in the language of the page, the state of every process after a number of events, and sentences for events.
function localized(value) {
  if (value === null || typeof value !== "object") return value;
  if (Object.hasOwn(value, "en") && Object.hasOwn(value, "pt")) return value[LANGUAGE];
  if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map(localized);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, localized(part)]));
}

function lifeAtStart() {
  return { waiting: false, inside: false, down: false, paused: false, leader: null, leads: false, token: null, status: "",
    active: null, pointsTo: [], pruned: [], waitsFor: [] };
}

const FOLLOW = {
  wanted: (life) => { life.waiting = true; },
  entered: (life, event) => { life.waiting = false; life.inside = true; life.token = event.token ?? null; },
  left: (life) => { life.inside = false; life.token = null; },
  withdrew: (life) => { life.waiting = false; },
  elected: (life, event) => { life.leader = event.leader ?? null; life.leads = event.self; },
  crashed: (life) => { Object.assign(life, lifeAtStart(), { down: true }); },
  recovered: (life) => { life.down = false; },
  paused: (life) => { life.paused = true; },
  resumed: (life) => { life.paused = false; },
  status: (life, event) => { life.status = event.text; },
  viewed: (life, event) => { life.active = event.active; life.pointsTo = event.pointsTo; life.pruned = event.pruned; life.waitsFor = event.waitsFor; },
};

// The states after the first `count` events. A trace in a page is short enough to be read again each time.
function livesAfter(data, count) {
  const lives = data.ids.map(lifeAtStart);
  for (let index = 0; index < count; index++) {
    const event = data.events[index];
    const follow = FOLLOW[event.e];
    if (follow) follow(lives[event.p], event);
  }
  return lives;
}

// The channels that are cut after the first `count` events, as "from>to".
function cutsAfter(data, count) {
  const cuts = new Set();
  for (let index = 0; index < count; index++) {
    const event = data.events[index];
    if (event.e === "cut") cuts.add(event.p + ">" + event.to);
    else if (event.e === "healed") cuts.delete(event.p + ">" + event.to);
  }
  return cuts;
}

function stateOf(life) {
  if (life.down) return "down";
  if (life.paused) return "paused";
  if (life.inside) return "inside";
  if (life.waiting) return "waiting";
  if (life.leads) return "leader";
  if (life.active !== null) return life.active ? "active" : "passive";
  return "idle";
}

function sentence(data, event, receivers) {
  let kind = event.e;
  if (kind === "lost") kind = "lost_" + event.reason;
  else if (kind === "entered" && event.token !== undefined) kind = "entered_token";
  else if (kind === "wrote" && !event.accepted) kind = "refused";
  else if (kind === "recovered" && !event.memory) kind = "recovered_empty";
  else if (kind === "elected" && event.leader === undefined) kind = "no_leader";
  else if (kind === "withdrew" && event.retracted) kind = "retracted";
  else if (kind === "elected") kind = (event.self ? "leads" : "elected") + (event.term !== "0" ? "_term" : "");
  const values = { ...event, p: data.called[event.p], from: data.called[event.from], to: receivers.join(", ") };
  return fill(words.event[kind] ?? kind, values);
}
