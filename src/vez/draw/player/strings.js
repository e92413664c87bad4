// Every word of the page, by language. A sentence is a template; {names} are filled in.
const STRINGS = {
  en: {
    now: "Now", processes: "Processes", properties: "Properties", speed: "Speed",
    first: "To the beginning (Home)", back: "One step back (←)", play: "Play (space)", pause: "Pause (space)",
    next: "One step on (→)", last: "To the end (End)", time: "Time", view: "Space-time diagram",
    meta: "{processes} processes · {messages} messages · {topology} · seed {seed}",
    clock: "{ms} ms · step {step} of {steps}",
    beginning: "Nothing has happened yet. Press play, or → for one step.",
    notDrawn: "Not drawn: {what}.",
    broken: "{count} broken", allHold: "nothing broken", notPromised: "not promised", jump: "Show the moment",
    event: {
      wanted: "{p} wants in", asked: "{p} is asked to hold an election",
      sent: "{p} sends {label} to {to}", delivered: "{p} receives {label} from {from}",
      lost_loss: "{label} from {from} to {to} is lost",
      lost_partition: "{label} from {from} to {to} is stopped by the partition",
      lost_crash: "{label} from {from} finds {to} crashed",
      entered: "{p} is inside", entered_token: "{p} is inside, with token {token}",
      wrote: "{p} writes with token {token}", refused: "{p}'s write is refused: token {token} is stale",
      left: "{p} is outside again",
      elected: "{p} takes {leader} for the leader", elected_term: "{p} takes {leader} for the leader of term {term}",
      leads: "{p} leads", leads_term: "{p} leads in term {term}",
      crashed: "{p} crashes", recovered: "{p} comes back", recovered_empty: "{p} comes back without its memory",
      paused: "{p} stands still", resumed: "{p} goes on",
      suspected: "{p} is told that {peer} has crashed", trusted: "{p} is told that {peer} is alive after all",
      fired: "{p}'s timer “{name}” runs out", status: "{p}: {text}", noted: "{p} notes: {text}",
      cut: "the channel from {p} to {to} is cut", healed: "the channel from {p} to {to} works again",
    },
    state: {
      down: "crashed", paused: "standing still", inside: "inside", waiting: "waiting", leader: "leader",
      follows: "follows {leader}", idle: "up", outside: "outside",
    },
  },
};
const LANGUAGE = "en";
const words = STRINGS[LANGUAGE];

function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}
