"""Sentences of the checker's verdicts, by key, in English and Portuguese."""

from __future__ import annotations

CHECKS: dict[str, tuple[str, str]] = {
    "beyond_the_bound": (
        "what must happen some day may happen beyond the bound",
        "o que deve acontecer algum dia pode acontecer além do limite",
    ),
    "needs_whole_graph": (
        "a run may go on for ever, and fair cycles need the whole graph: check without reduction",
        "uma execução pode continuar para sempre, e ciclos justos exigem o grafo inteiro: verifique sem redução",
    ),
    "only_ends_examined": (
        "no run ends this way in all {count:state}; stopped {stopped} before endless runs were examined",
        "nenhuma execução termina assim em {count:state}; parada ({stopped}) antes de examinar as que não terminam",
    ),
    "time_not_examined": (
        "no violation in all {count:state}; stopped {stopped} before it was examined whether time may stop",
        "nenhuma violação em {count:state}; parada ({stopped}) antes de examinar se o tempo pode parar",
    ),
    "time_may_stop": ("no violation in {count:state}, but {why}", "nenhuma violação em {count:state}, mas {why}"),
    "messages_go_round": (
        "messages may go round for ever while a clock runs, and they take no time here: give them some with "
        "--longest-delay, or let timers fire at any moment with --timeouts",
        "mensagens podem circular para sempre enquanto um relógio corre, e aqui não levam tempo: dê-lhes algum com "
        "--longest-delay, ou deixe os temporizadores dispararem a qualquer momento com --timeouts",
    ),
    "protocol_stops_time": (
        "the protocol may stop time: a clock runs, and from then on something always happens before it can go on; let "
        "timers fire at any moment with --timeouts",
        "o protocolo pode parar o tempo: um relógio corre, e daí em diante algo sempre acontece antes que prossiga; "
        "deixe os temporizadores dispararem a qualquer momento com --timeouts",
    ),
    "explored_in_part": (
        "no violation in what was explored: {count:state} to depth {depth}, stopped {stopped}",
        "nenhuma violação no que foi explorado: {count:state} até a profundidade {depth}; parada: {stopped}",
    ),
    "stopped_at_states": (
        "past the limit of {limit:state} (--max-states)",
        "além do limite de {limit:state} (--max-states)",
    ),
    "stopped_at_memory": (
        "at the limit of {mib:,} MiB (--max-memory)",
        "no limite de {mib:,} MiB (--max-memory)",
    ),
    "stopped_before_memory": (
        "before work that may need more than {mib:,} MiB (--max-memory)",
        "antes de um trabalho que pode precisar de mais de {mib:,} MiB (--max-memory)",
    ),
    "stopped_without_memory": (
        "because the system gave no more memory",
        "porque o sistema não deu mais memória",
    ),
    "stopped_by_time": ("after {seconds:.0f} s", "após {seconds:.0f} s"),
    "stopped_at_first": ("at the first violation (--first)", "na primeira violação (--first)"),
    "stopped_by_user": ("by Ctrl-C", "por Ctrl-C"),
    "stopped_by_exception": ("at the first exception of a handler", "na primeira exceção de um tratador"),
    "fair_deliver": ("messages arrive", "mensagens chegam"),
    "fair_fire": (
        "due timers fire unless they are set anew",
        "temporizadores vencidos disparam, a não ser que sejam reiniciados",
    ),
    "fair_fire_with_drift": (
        "timers that may have run out fire unless they are set anew",
        "temporizadores que podem ter vencido disparam, a não ser que sejam reiniciados",
    ),
    "fair_leave": ("stays end", "estadias terminam"),
    "fair_resume": ("pauses end", "pausas terminam"),
    "fair_elect": ("starters start", "quem deve iniciar inicia"),
    "fair_suspect": ("the detector reports crashes", "o detector avisa das falhas"),
    "fair_trust": ("the detector reports recoveries", "o detector avisa das voltas"),
    "fair_advance": ("time passes", "o tempo passa"),
    "in_all_states": ("in all {count:state}", "em todos os {count:state}"),
    "in_all_states_within_bounds": (
        "in all {count:state} within the bounds",
        "em todos os {count:state} dentro dos limites",
    ),
    "bypasses_in": ("{counted} {extent}", "{counted} {extent}"),
    "says_nothing": ("{extent}, but {missing}: this says nothing", "{extent}, mas {missing}: isto não diz nada"),
    "nothing_checked": ("{missing}: nothing was checked", "{missing}: nada foi verificado"),
    "as_far_as": ("{extent}, {requests}", "{extent}, {requests}"),
    "each_asked_once": (
        "{extent}; each asked once: nobody could be overtaken by a second request",
        "{extent}; cada um pediu uma vez: ninguém podia ser ultrapassado por um segundo pedido",
    ),
    "owed_if_asked": (
        "{extent}; no leader is owed where {who:processes} crashes before it is asked",
        "{extent}; ninguém deve um líder quando {who:processes} falha antes de ser chamado",
    ),
    "owed_if_several_are_asked": (
        "{extent}; no leader is owed where {who:processes} crash before they are asked",
        "{extent}; ninguém deve um líder quando {who:processes} falham antes de serem chamados",
    ),
    "names_no_bound": (
        "{algorithm} names no bound; {counted} {extent}",
        "{algorithm} não dá limite; {counted} {extent}",
    ),
    "bypasses_or_more": ("{count:,} or more bypasses", "{count:,} ou mais ultrapassagens"),
    "however_often": ("however often they ask", "por mais que peçam"),
    "within_these_requests": ("within these requests", "com estes pedidos"),
    "within_requests_each": ("within {count:request} each", "com {count:request} cada"),
    "no_handler_ran": ("no handler ever ran", "nenhum tratador executou"),
    "nobody_wanted_in": ("nobody ever wanted in", "ninguém quis entrar"),
    "nobody_ever_got_in": ("nobody ever got in", "ninguém conseguiu entrar"),
    "nobody_named_a_leader": ("nobody ever named a leader", "ninguém nomeou um líder"),
    "in_steps": ("in {steps:step}: {what}", "em {steps:step}: {what}"),
    "step_repeats": (
        "{what}; the last {lap:step} repeats for ever",
        "{what}; o último passo ({lap:step}) se repete para sempre",
    ),
    "steps_repeat": (
        "{what}; the last {lap:step} repeat for ever",
        "{what}; os últimos passos ({lap:step}) se repetem para sempre",
    ),
    "a_run": ("a run", "uma execução"),
    "the_shortest_run": ("the shortest run", "a execução mais curta"),
    "the_shortest_run_with_ticks": (
        "the shortest run (if ticks count as steps)",
        "a execução mais curta (se tiques contam como passos)",
    ),
    "run_that_breaks": (
        "{which} in which {name} is broken, {steps:step}{repeated}:",
        "{which} que viola {name}, {steps:step}{repeated}:",
    ),
    "run_to_the_bug": (
        "{which} to this bug, {steps:step}{repeated}:",
        "{which} até este erro, {steps:step}{repeated}:",
    ),
    "broken_at_the_start": (
        "{name} is broken at the start, before any step",
        "{name}: já no início há uma violação, antes de qualquer passo",
    ),
    "bug_at_the_start": ("the bug is at the start", "o erro está no início"),
    "then_a_loop": (", then round in a loop", ", depois em um ciclo"),
    "no_loop": ("", ""),
    "from_here_for_ever": ("from here on for ever", "daqui em diante para sempre"),
    "no_way_back": (
        "no way back from here: every continuation fails",
        "daqui não há volta: toda continuação falha",
    ),
}
