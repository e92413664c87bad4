// All texts of the page, by language. A sentence is a template; {names} are filled in.
const STRINGS = {
  en: {
    now: "Now", processes: "Processes", properties: "Properties", speed: "Speed",
    first: "To the beginning (Home)", back: "One step back (←)", play: "Play (space)", pause: "Pause (space)",
    next: "One step on (→)", last: "To the end (End)", time: "Time",
    spacetime: "Space-time", network: "Network", change: "The other view (v)",
    shape: { circle: "Network", ring: "Ring", star: "Star", grid: "Grid", graph: "Graph" },
    legend: { flag: "whom it follows", cut: "cut channel", pruned: "pruned edge", ring: "broken: {what}", waits: "waits for" },
    more: "{missing} more processes are not drawn",
    meta: "{processes} processes · {messages} messages · {topology} · seed {seed}",
    clock: "{ms} ms · step {step} of {steps}",
    beginning: "Nothing has happened yet. Press play, or → for one step.",
    notDrawn: "Not drawn: {what}.",
    broken: "{count} broken", allHold: "nothing broken", notPromised: "not promised", jump: "Show the moment",
    event: {
      wanted: "{p} wants in", withdrew: "{p} stops waiting; its request stays", retracted: "{p} takes its request back",
      no_leader: "{p} knows no leader now", asked: "{p} is asked to hold an election",
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
      active: "active", passive: "passive", follows: "follows {leader}", idle: "up", outside: "outside",
    },
  },
  pt: {
    now: "Agora", processes: "Processos", properties: "Propriedades", speed: "Velocidade",
    first: "Ao início (Home)", back: "Um passo atrás (←)", play: "Tocar (espaço)", pause: "Pausar (espaço)",
    next: "Um passo à frente (→)", last: "Ao fim (End)", time: "Tempo",
    spacetime: "Espaço-tempo", network: "Rede", change: "A outra vista (v)",
    shape: { circle: "Rede", ring: "Anel", star: "Estrela", grid: "Grade", graph: "Grafo" },
    legend: { flag: "a quem segue", cut: "canal cortado", pruned: "aresta podada", ring: "violada: {what}", waits: "espera por" },
    more: "mais {missing} processos não são desenhados",
    meta: "{processes} processos · {messages} mensagens · {topology} · semente {seed}",
    clock: "{ms} ms · passo {step} de {steps}",
    beginning: "Nada aconteceu ainda. Aperte espaço para tocar, ou → para um passo.",
    notDrawn: "Não desenhado: {what}.",
    broken: "violadas: {count}", allHold: "nada violado", notPromised: "não prometida", jump: "Mostrar o momento",
    event: {
      wanted: "{p} quer entrar", withdrew: "{p} deixa de esperar; o pedido fica", retracted: "{p} retira o pedido",
      no_leader: "{p} não conhece líder agora", asked: "pede-se a {p} uma eleição",
      sent: "{p} envia {label} a {to}", delivered: "{p} recebe {label} de {from}",
      lost_loss: "{label} de {from} a {to} se perde",
      lost_partition: "{label} de {from} a {to} é barrada pela partição",
      lost_crash: "{label} de {from} encontra {to} morto",
      entered: "{p} está dentro", entered_token: "{p} está dentro, com a ficha {token}",
      wrote: "{p} escreve com a ficha {token}", refused: "a escrita de {p} é recusada: a ficha {token} é velha",
      left: "{p} está fora de novo",
      elected: "{p} toma {leader} por líder", elected_term: "{p} toma {leader} por líder do mandato {term}",
      leads: "{p} lidera", leads_term: "{p} lidera no mandato {term}",
      crashed: "{p} morre", recovered: "{p} volta", recovered_empty: "{p} volta sem memória",
      paused: "{p} fica parado", resumed: "{p} prossegue",
      suspected: "{p} é avisado de que {peer} morreu", trusted: "{p} é avisado de que {peer} afinal está vivo",
      fired: "o temporizador “{name}” de {p} se esgota", status: "{p}: {text}", noted: "{p} anota: {text}",
      cut: "o canal de {p} a {to} é cortado", healed: "o canal de {p} a {to} volta a funcionar",
    },
    state: {
      down: "morto", paused: "parado", inside: "dentro", waiting: "esperando", leader: "líder",
      active: "ativo", passive: "passivo", follows: "segue {leader}", idle: "vivo", outside: "fora",
    },
  },
};
// The language: #lang=pt, or else the first language of the browser for which there are texts.
const asked = new URLSearchParams(location.hash.slice(1)).get("lang") ?? navigator.language ?? "en";
const LANGUAGE = Object.keys(STRINGS).find((language) => asked.toLowerCase().startsWith(language)) ?? "en";
const words = STRINGS[LANGUAGE];
document.documentElement.lang = LANGUAGE;

function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}
