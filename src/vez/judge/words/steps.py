"""Sentences about steps of the checker, by key, in English and Portuguese."""

from __future__ import annotations

STEPS: dict[str, tuple[str, str]] = {
    "and_then": ("{parts:list}", "{parts:list}"),
    "time_passes": ("{ms:g} ms pass", "passam {ms:g} ms"),
    # Messages.
    "step_deliver": (
        "process {process} receives {message} from process {other}",
        "o processo {process} recebe {message} do processo {other}",
    ),
    "step_duplicate": (
        "process {process} receives a copy of {message} from process {other}",
        "o processo {process} recebe uma cópia de {message} do processo {other}",
    ),
    "step_drop": (
        "process {process} is down and misses {message} from process {other}",
        "o processo {process} está parado e não recebe {message} do processo {other}",
    ),
    "step_lose": (
        "process {process} will never receive {message} from process {other}",
        "o processo {process} nunca receberá {message} do processo {other}",
    ),
    "step_sever": (
        "process {process} is cut off and misses {message} from process {other}",
        "o processo {process} está isolado e não recebe {message} do processo {other}",
    ),
    # The application, timers and faults.
    "step_want": ("process {process} wants in", "o processo {process} quer entrar"),
    "step_leave": ("process {process} leaves", "o processo {process} sai"),
    "step_elect": ("process {process} is asked to elect", "o processo {process} é chamado a iniciar uma eleição"),
    "step_fire": (
        "process {process} sees its timer run out: {timer}",
        "o processo {process} vê seu temporizador vencer: {timer}",
    ),
    "step_withdraw": ("process {process} stops waiting", "o processo {process} desiste de esperar"),
    "step_crash": ("process {process} crashes", "o processo {process} falha"),
    "step_recover": ("process {process} comes back", "o processo {process} volta"),
    "step_recover_empty": ("process {process} comes back with nothing", "o processo {process} volta sem memória"),
    "step_pause": ("process {process} is paused", "o processo {process} é pausado"),
    "step_resume": ("process {process} goes on", "o processo {process} continua"),
    "step_suspect": (
        "process {process} is told that process {other} is dead",
        "o processo {process} é avisado de que o processo {other} está morto",
    ),
    "step_suspect_wrongly": (
        "process {process} is wrongly told that process {other} is dead",
        "o processo {process} é avisado por engano de que o processo {other} está morto",
    ),
    "step_trust": (
        "process {process} is told that process {other} is back",
        "o processo {process} é avisado de que o processo {other} voltou",
    ),
    "step_heal": ("the partition {partition} heals", "a partição {partition} é desfeita"),
    "step_one_way": (
        "{senders:processes} can no longer reach {receivers:processes}",
        "canais cortados em um sentido: quem envia, {senders:processes}; quem recebe, {receivers:processes}",
    ),
    "step_cut_one": (
        "{first:processes} is cut off from {others:sides}",
        "a rede se divide: {first:processes} de um lado, {others:sides} do outro",
    ),
    "step_cut_many": (
        "{first:processes} are cut off from {others:sides}",
        "a rede se divide: {first:processes} de um lado, {others:sides} do outro",
    ),
    "step_side": ("{who:processes}", "{who:processes}"),
    # The visible effects of the step.
    "seen_enter": ("it is in", "ele está dentro"),
    "seen_enter_with": ("it is in with token {token}", "ele está dentro com a ficha {token}"),
    "seen_no_leader": ("it knows no leader", "ele não conhece líder"),
    "seen_leader": ("it takes {leader} for the leader", "ele toma {leader} como líder"),
    "seen_leader_of": (
        "it takes {leader} for the leader of term {term}",
        "ele toma {leader} como líder do mandato {term}",
    ),
    # A crash inside a handler.
    "crashes_inside": ("it crashes inside the handler, {done}", "ele falha dentro do tratador, {done}"),
    "crashes_at_start": (
        "process {process} crashes inside on_start, {done}",
        "o processo {process} falha dentro de on_start, {done}",
    ),
    "done_nothing": ("before its first action", "antes da primeira ação"),
    "done_so_far": ("after action {count}: it has {parts:commas}", "depois da ação {count}: {parts:commas}"),
    "done_sent": ("sent {message} to process {to}", "enviou {message} ao processo {to}"),
    "done_enter": ("entered", "entrou"),
    "done_elected": ("named a leader", "nomeou um líder"),
    "done_stored": ("stored durable fields", "gravou campos duráveis"),
}
