"""Sentences of verdicts, by key, in English and Portuguese."""

from __future__ import annotations

NOUNS: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "entry": (("entry", "entries"), ("entrada", "entradas")),
    "request": (("request", "requests"), ("pedido", "pedidos")),
    "write": (("write", "writes"), ("escrita", "escritas")),
    "time": (("time", "times"), ("vez", "vezes")),
    "bypass": (("bypass", "bypasses"), ("ultrapassagem", "ultrapassagens")),
    "reign": (("reign", "reigns"), ("reinado", "reinados")),
    "change": (("change", "changes"), ("mudança", "mudanças")),
    "step": (("step", "steps"), ("passo", "passos")),
    "state": (("state", "states"), ("estado", "estados")),
    "message": (("message", "messages"), ("mensagem", "mensagens")),
    "process": (("process", "processes"), ("processo", "processos")),
    "election": (("election", "elections"), ("eleição", "eleições")),
    "starter": (("starter", "starters"), ("iniciador", "iniciadores")),
    "crash": (("crash", "crashes"), ("falha", "falhas")),
    "crash inside": (
        ("crash inside a handler", "crashes inside a handler"),
        ("falha dentro de um tratador", "falhas dentro de um tratador"),
    ),
    "recovery": (("recovery", "recoveries"), ("volta", "voltas")),
    "loss": (("loss", "losses"), ("perda", "perdas")),
    "duplicate": (("duplicate", "duplicates"), ("cópia", "cópias")),
    "mistake": (("mistake", "mistakes"), ("engano", "enganos")),
    "withdrawal": (("withdrawal", "withdrawals"), ("desistência", "desistências")),
    "partition": (("partition", "partitions"), ("partição", "partições")),
    "pause": (("pause", "pauses"), ("pausa", "pausas")),
    "label": (("label", "labels"), ("rótulo", "rótulos")),
    "free entry": (("free entry", "free entries"), ("entrada livre", "entradas livres")),
    "hand-over": (("hand-over", "hand-overs"), ("passagem", "passagens")),
}
"""Counted things: singular and plural, in each language."""

VERDICTS: dict[str, tuple[str, str]] = {
    # Mutual exclusion.
    "inside_together": (
        "processes {one} and {other} were inside together from {start:ms} to {end:ms} ms",
        "os processos {one} e {other} estiveram dentro ao mesmo tempo, de {start:ms} a {end:ms} ms",
    ),
    "no_two_at_once": ("{entries:entry}, no two at once", "{entries:entry}, nunca duas ao mesmo tempo"),
    "each_after_the_one_before": (
        "{entries:entry}, each after the one before had left",
        "{entries:entry}, cada uma depois da saída da anterior",
    ),
    "possibly_inside_together": (
        "processes {one} and {other} were possibly inside together: they ran on different hosts, and neither left "
        "before the other came",
        "os processos {one} e {other} talvez tenham estado dentro ao mesmo tempo: executavam em hosts distintos, e "
        "nenhum saiu antes de o outro chegar",
    ),
    "inside_together_whatever_clocks_say": (
        "processes {one} and {other} were inside together, whatever their clocks say",
        "os processos {one} e {other} estiveram dentro ao mesmo tempo, digam o que disserem seus relógios",
    ),
    "waited_in_vain": (
        "{who:processes} waited in vain from {since:ms} ms to the end at {end:ms} ms",
        "{who:processes} esperou em vão de {since:ms} ms até o fim, em {end:ms} ms",
    ),
    "several_waited_in_vain": (
        "{who:processes} waited in vain, process {first} from {since:ms} ms to the end at {end:ms} ms",
        "{who:processes} esperaram em vão, o processo {first} de {since:ms} ms até o fim, em {end:ms} ms",
    ),
    "all_served": (
        "{served} of {requests:request} served, nobody left waiting",
        "{served} de {requests:request} com acesso, ninguém ficou esperando",
    ),
    "served_or_withdrawn": (
        "{served} of {requests:request} served, {withdrawn} withdrawn, nobody left waiting",
        "{served} de {requests:request} com acesso, {withdrawn} com desistência, ninguém ficou esperando",
    ),
    "nobody_got_in_since": (
        "{who:processes} wanted in and nobody got in from {since:ms} ms to the end at {end:ms} ms",
        "{who:processes} sem acesso: ninguém entrou de {since:ms} ms até o fim, em {end:ms} ms",
    ),
    "never_stuck": ("{entries:entry}, never stuck", "{entries:entry}, nunca travado"),
    "still_waited": (
        "{who:processes} still waited when the run was cut at {end:ms} ms, too early to tell",
        "{who:processes}: ainda à espera quando a execução foi cortada, em {end:ms} ms; cedo demais para dizer",
    ),
    "requests_without_order": (
        "requests on different hosts have no order in time",
        "pedidos em hosts distintos não têm ordem no tempo",
    ),
    "overtaken": (
        "process {process} was overtaken {count:time}, more than the bound of {bound}",
        "o processo {process} foi ultrapassado {count:time}, mais que o limite de {bound}",
    ),
    "at_most_bypasses": ("at most {count:bypass}", "no máximo {count:bypass}"),
    "at_most_bypasses_of": (
        "at most {count:bypass} (process {process}, from {since:ms} ms)",
        "no máximo {count:bypass} (processo {process}, desde {since:ms} ms)",
    ),
    "no_bound_named": ("no bound is named; {counted}", "nenhum limite é dado; {counted}"),
    "within_the_bound": ("{counted}, the bound is {bound}", "{counted}, o limite é {bound}"),
    "run_too_large": ("the run is too large for it ({entries:entry})", "a execução é grande demais ({entries:entry})"),
    "got_in_first": (
        "process {process} asked at {asked:ms} ms and process {other}, which knew of it and asked at {later:ms} ms, "
        "got in first",
        "o processo {process} pediu em {asked:ms} ms, e o processo {other}, que sabia disso e pediu em {later:ms} ms, "
        "entrou antes",
    ),
    "in_order_of_requests": ("{entries:entry} in the order of the requests", "{entries:entry} na ordem dos pedidos"),
    "no_tokens": ("no stay carries a token", "nenhum acesso tem ficha"),
    "nobody_got_in": ("nobody got in", "ninguém entrou"),
    "stale_write": (
        "the resource accepted a stale write of process {process} (token {token}) at {at:ms} ms, after one of process "
        "{other} (token {newer}), which got in later",
        "o recurso aceitou uma escrita velha do processo {process} (ficha {token}) em {at:ms} ms, depois de uma do "
        "processo {other} (ficha {newer}), que entrou mais tarde",
    ),
    "writes_in_order": (
        "{accepted:write} accepted in order, {refused} stale refused",
        "{accepted:write} em ordem, {refused} com ficha velha, sem efeito",
    ),
    # Election.
    "reigns_apart": ("{reigns:reign}, no two leaders at once", "{reigns:reign}, nunca dois líderes ao mesmo tempo"),
    "possibly_two_leaders": (
        "processes {one} and {other} possibly led at the same time: they ran on different hosts, and neither reign "
        "happened before the other",
        "os processos {one} e {other} talvez tenham liderado ao mesmo tempo: executavam em hosts distintos, e nenhum "
        "reinado aconteceu antes do outro",
    ),
    "two_leaders_together": (
        "processes {one} and {other} were both leaders, together from {start:ms} to {end:ms} ms",
        "os processos {one} e {other} foram ambos líderes, ao mesmo tempo de {start:ms} a {end:ms} ms",
    ),
    "two_leaders_of_a_term_together": (
        "processes {one} and {other} were both leaders of term {term}, together from {start:ms} to {end:ms} ms",
        "os processos {one} e {other} foram ambos líderes do mandato {term}, juntos de {start:ms} a {end:ms} ms",
    ),
    "two_leaders_of_a_term": (
        "processes {one} and {other} were both leaders of term {term}, at {first:ms} and {second:ms} ms",
        "os processos {one} e {other} foram ambos líderes do mandato {term}, em {first:ms} e {second:ms} ms",
    ),
    "leads_from": ("process {leader} leads from {since:ms} ms", "o processo {leader} lidera desde {since:ms} ms"),
    "led_from_to": (
        "process {leader} led from {since:ms} to {until:ms} ms and is alive",
        "o processo {leader} liderou de {since:ms} a {until:ms} ms e está vivo",
    ),
    "nobody_alive": ("nobody is left alive", "ninguém está vivo"),
    "nobody_able_alive": ("nobody who may lead is alive", "ninguém que possa liderar está vivo"),
    "no_election": (
        "no election started: nobody was asked",
        "nenhuma eleição começou: ninguém foi chamado",
    ),
    "no_election_after_crash": (
        "no election started: nobody was asked, {who:processes} crashed before",
        "nenhuma eleição começou: ninguém foi chamado; falha antes disso: {who:processes}",
    ),
    "nobody_led_yet": (
        "nobody led when the run was cut at {end:ms} ms",
        "ninguém liderava quando a execução foi cortada, em {end:ms} ms",
    ),
    "nobody_ever_led": (
        "nobody led from the start to the end at {end:ms} ms",
        "ninguém liderou do começo até o fim, em {end:ms} ms",
    ),
    "nobody_led_after": (
        "nobody led after process {leader}, which died at {at:ms} ms, to the end at {end:ms} ms",
        "ninguém liderou depois do processo {leader}, que morreu em {at:ms} ms, até o fim, em {end:ms} ms",
    ),
    "nobody_led_since": (
        "nobody led after process {leader}, which stepped down at {at:ms} ms, to the end at {end:ms} ms",
        "ninguém liderou depois do processo {leader}, que deixou o cargo em {at:ms} ms, até o fim, em {end:ms} ms",
    ),
    "all_name": ("all {count} live processes name {leader}", "todos os {count} processos vivos nomeiam {leader}"),
    "cut_before_settled": (
        "the run was cut at {end:ms} ms, before all had settled",
        "a execução foi cortada em {end:ms} ms, antes de todos se decidirem",
    ),
    "they_name": ("at {end:ms} ms {parts:list}", "em {end:ms} ms {parts:list}"),
    "names": ("{who:processes} names {leader}", "{who:processes} nomeia {leader}"),
    "name": ("{who:processes} name {leader}", "{who:processes} nomeiam {leader}"),
    "names_dead": ("{who:processes} names {leader}, which is dead", "{who:processes} nomeia {leader}, que está morto"),
    "name_dead": ("{who:processes} name {leader}, which is dead", "{who:processes} nomeiam {leader}, que está morto"),
    "names_nobody": ("{who:processes} names nobody", "{who:processes} não nomeia ninguém"),
    "name_nobody": ("{who:processes} name nobody", "{who:processes} não nomeiam ninguém"),
    "reigns_without_order": (
        "reigns on different hosts have no order in time",
        "reinados em hosts distintos não têm ordem no tempo",
    ),
    "took_over": (
        "process {process} took over from process {other} at {at:ms} ms, which had not failed",
        "o processo {process} tomou o lugar do processo {other} em {at:ms} ms, e este não tinha falhado",
    ),
    "changes_after_crashes": (
        "{changes:change} of leader, each after a crash",
        "{changes:change} de líder, cada uma depois de uma falha",
    ),
    "nobody_named": ("nobody was named", "ninguém foi nomeado"),
    "dead_leader": (
        "process {leader} is named leader and is not alive",
        "o processo {leader} é nomeado líder e não está vivo",
    ),
    "dead_leader_unheard": (
        "process {leader} is dead, and the run was cut before all had heard",
        "o processo {leader} está morto, e a execução foi cortada antes de todos saberem",
    ),
    "unable_leader": (
        "process {leader} is named leader and may not lead",
        "o processo {leader} é nomeado líder e não pode liderar",
    ),
    "led_when_cut": (
        "process {leader} led when the run was cut at {end:ms} ms",
        "o processo {leader} liderava quando a execução foi cortada, em {end:ms} ms",
    ),
    "leads_although": (
        "process {leader} leads although process {best} is alive",
        "o processo {leader} lidera, embora o processo {best} esteja vivo",
    ),
    "largest_leads": (
        "process {leader} leads, the largest of the {live} live",
        "o processo {leader} lidera, o maior dos {live} vivos",
    ),
    "best_leads": (
        "process {leader} leads, the best of the {live} live",
        "o processo {leader} lidera, o melhor dos {live} vivos",
    ),
    "leads_alive": ("process {leader} leads, and is alive", "o processo {leader} lidera, e está vivo"),
    "lead_alive": ("{who:processes} lead, and are alive", "{who:processes} lideram, e estão vivos"),
    # Real workers of an engine.
    "granted_first": (
        "worker {worker} was in the queue at {queued} ms, worker {other} asked at {asked} ms and was granted first",
        "o trabalhador {worker} estava na fila em {queued} ms; o {other} pediu em {asked} ms e entrou antes",
    ),
    "no_forks": ("no worker was forked", "nenhum worker foi duplicado por fork"),
    "none_queued": ("nobody had to wait in the queue", "ninguém precisou esperar na fila"),
    "none_overtaken": (
        "{count} requests were queued, and none was overtaken",
        "{count} pedidos entraram na fila, e nenhum foi ultrapassado",
    ),
    "too_many_inside": (
        "worker {worker} entered at {at} ms beside {others}",
        "o trabalhador {worker} entrou em {at} ms ao lado de {others}",
    ),
    "not_told": (
        "worker {worker} entered at {at} ms with token {token}, was broken, and left without being told",
        "o trabalhador {worker} entrou em {at} ms com a ficha {token}, foi desapossado, e saiu sem ser avisado",
    ),
    "told_for_nothing": (
        "worker {worker} entered at {at} ms with token {token} and was told of a loss, without any record of a break",
        "o trabalhador {worker} entrou em {at} ms com a ficha {token} e foi avisado de uma perda, sem registro algum",
    ),
    "not_recorded": (
        "token {token} was broken at {at} ms, and there is no record of it",
        "a ficha {token} foi anulada à força em {at} ms, e não há registro disso",
    ),
    "not_on_disk": (
        "worker {worker} entered at {at} ms with token {token}, when only those below {bound} were on disk",
        "o trabalhador {worker} entrou em {at} ms com a ficha {token}, quando só as abaixo de {bound} estavam no disco",
    ),
    "turns_slow": (
        "a turn takes {turn} ms in the best calm slice; without the engine {bare} ms, so {bound} ms are allowed; "
        "{between}",
        "um turno leva {turn} ms na melhor fatia calma; sem o motor {bare} ms, logo são permitidos {bound} ms; "
        "{between}",
    ),
    "turns_quick": (
        "a turn takes {turn} ms in a calm slice, allowed are {bound} ms; without the engine {bare} ms; {between}",
        "um turno leva {turn} ms numa fatia calma, permitidos {bound} ms; sem o motor {bare} ms; {between}",
    ),
    "turns_between": ("between faults {ms} ms", "entre falhas {ms} ms"),
    "turns_between_few": (
        "between faults not judged: fewer than {least} undisturbed times",
        "entre falhas sem julgamento: menos de {least} intervalos sem perturbação",
    ),
    "turns_between_disk": (
        "between faults not judged: some of them make turns wait for the disk",
        "entre falhas sem julgamento: algumas fazem os turnos esperarem pelo disco",
    ),
    "stays_sound": (
        "{count} stays, never more than {limit} inside that exclude each other, in the order of their tokens",
        "{count} permanências, nunca mais de {limit} que se excluam, na ordem das suas fichas",
    ),
    "token_not_higher": (
        "worker {worker} entered at {at} ms with token {token}, after token {before}",
        "o trabalhador {worker} entrou em {at} ms com a ficha {token}, depois da ficha {before}",
    ),
    "tokens_rise": ("{count} tokens, each above the one before", "{count} fichas, cada uma acima da anterior"),
    "stalled": (
        "after the last fault these workers were not granted any more: {workers}",
        "depois da última falha, estes trabalhadores não foram mais atendidos: {workers}",
    ),
    "all_went_on": (
        "after the last fault every worker was granted again",
        "depois da última falha, todos foram atendidos",
    ),
    "too_few_to_judge": ("{count} of them, too few to judge", "{count}, poucas para julgar"),
    "slow": (
        "{count} of them: nine of ten within {usual} ms, where the stays allow {bound} ms; the longest {worst} ms",
        "{count}: nove em cada dez em até {usual} ms, onde as estadias permitem {bound} ms; a mais longa {worst} ms",
    ),
    "prompt": (
        "{count} of them: nine of ten within {usual} ms, allowed are {bound} ms; the longest {worst} ms",
        "{count}: nove em cada dez em até {usual} ms, permitidos {bound} ms; a mais longa {worst} ms",
    ),
    "update_lost": (
        "worker {worker} wrote {value} at {at} ms, after {before}",
        "o trabalhador {worker} escreveu {value} em {at} ms, depois de {before}",
    ),
    "updates_kept": ("{count} writes, each one above the one before", "{count} escritas, cada uma acima da anterior"),
    "believer": (
        "a child of worker {worker} believed that it held the lock at {at} ms",
        "um filho do trabalhador {worker} acreditou deter o lock em {at} ms",
    ),
    "no_believers": (
        "{count} forked children, none of which believed that it held the lock",
        "{count} filhos por fork, nenhum dos quais acreditou deter o lock",
    ),
    # Any protocol.
    "nothing_raised": ("no handler raised an exception", "nenhum tratador lançou exceção"),
}
