// The panels beside the diagram. Text from the trace is only put into text nodes.
function make(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function milliseconds(us) {
  return String(Math.round(us) / 1000);
}

function nowPanel(data) {
  const box = document.getElementById("now");
  const partition = new Map(data.partitions.map(({ index, words }) => [index, words]));
  return (moment) => {
    box.replaceChildren();
    if (!moment.step) {
      box.append(make("p", "quiet", words.beginning));
      return;
    }
    let shown = 0;
    for (let index = moment.first; index <= moment.last; index++) {
      const event = data.events[index];
      if (event.e === "cut" || event.e === "healed") {
        if (partition.has(index)) box.append(make("p", "fault", partition.get(index)));
        continue;
      }
      if (event.e === "viewed") continue; // the picture shows it, and the status has it as text
      const receivers = [data.called[event.to]]; // one line for a message to several receivers
      while (event.e === "sent" && index < moment.last && alike(event, data.events[index + 1])) {
        receivers.push(data.called[data.events[++index].to]);
      }
      const bad = event.e === "lost" || event.e === "crashed" || (event.e === "wrote" && !event.accepted);
      box.append(make("p", bad ? "fault" : shown ? "then" : "first", sentence(data, event, receivers)));
      shown += 1;
    }
  };
}

function alike(event, other) {
  return other.e === event.e && other.label === event.label;
}

function processPanel(data) {
  const box = document.getElementById("processes");
  const cards = data.names.map((id, column) => {
    const card = make("div", "process");
    const state = make("span", "state"), status = make("span", "status"), leader = make("span", "leader");
    card.append(make("span", "id", id), state, leader, status);
    box.append(card);
    return { card, state, status, leader, column };
  });
  return (moment) => {
    for (const { card, state, status, leader, column } of cards) {
      const life = moment.lives[column], kind = stateOf(life);
      card.dataset.state = kind;
      card.classList.toggle("acting", !moment.whole && moment.acting === column);
      card.classList.toggle("wrong", moment.wrong.has(column));
      const word = kind === "idle" && data.role === "mutex" ? "outside" : kind;
      state.textContent = words.state[word] + (kind === "inside" && life.token ? " · " + life.token : "");
      status.textContent = life.status;
      leader.textContent = life.leader !== null && !life.leads ? fill(words.state.follows, life) : "";
    }
  };
}

function verdictPanel(data, jump) {
  const box = document.getElementById("verdicts");
  const broken = data.verdicts.filter((verdict) => verdict.status === "broken");
  const panel = document.getElementById("properties-panel");
  panel.hidden = !data.verdicts.length;
  if (broken.length && data.ids.length > 6) panel.previousElementSibling.before(panel); // so that it is visible without scrolling
  const ordered = [...broken, ...data.verdicts.filter((verdict) => verdict.status !== "broken")];
  for (const verdict of ordered) {
    const jumps = verdict.at !== null;
    const card = make(jumps ? "button" : "div", "verdict");
    card.dataset.status = verdict.status;
    const head = make("span", "verdict-head");
    head.append(make("span", "verdict-name", verdict.title), make("span", "verdict-words", verdict.words));
    if (!verdict.promised) head.append(make("span", "verdict-words", words.notPromised));
    card.append(head, make("span", "evidence", verdict.evidence));
    if (jumps) {
      card.type = "button";
      card.title = words.jump;
      card.addEventListener("click", () => jump(verdict.at));
    }
    box.append(card);
  }
  const summary = document.getElementById("summary");
  if (data.verdicts.length) {
    summary.textContent = broken.length ? fill(words.broken, { count: broken.length }) : words.allHold;
    summary.dataset.broken = broken.length;
  }
}

function headline(data) {
  const title = data.title;
  document.getElementById("title").textContent = title || data.algorithm;
  document.title = `${title || data.algorithm} · vez`;
  const meta = document.getElementById("meta");
  meta.textContent = (title ? `${data.algorithm} · ` : "") + fill(words.meta, {
    processes: data.ids.length, messages: data.messages, topology: data.topology, seed: data.seed,
  });
  for (const what of data.leftOut) meta.append(make("strong", "left-out", fill(words.notDrawn, { what })));
  for (const element of document.querySelectorAll("[data-string]")) {
    element.textContent = words[element.dataset.string];
  }
}
