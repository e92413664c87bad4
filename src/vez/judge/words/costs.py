"""Sentences about a run and its costs, by key, in English and Portuguese."""

from __future__ import annotations

COSTS: dict[str, tuple[str, str]] = {
    "run_heading": (
        "{count:process}, {topology}, seed {seed}; ended at {end:g} ms: {why}",
        "{count:process}, {topology}, semente {seed}; fim em {end:g} ms: {why}",
    ),
    "ended_quiet": ("nothing left to happen", "nada mais a acontecer"),
    "ended_finished": ("the work was done", "o trabalho foi feito"),
    "ended_time": ("the time was up", "o tempo acabou"),
    "ended_events": ("the limit of events was met", "o limite de eventos foi atingido"),
    "ended_interrupted": ("interrupted", "interrompida"),
    "ended_raised": ("a handler raised an exception", "um tratador lançou uma exceção"),
    "cost_messages": ("messages", "mensagens"),
    "cost_leader": ("leader", "líder"),
    "cost_entries": ("entries", "entradas"),
    "cost_client": ("client delay", "atraso do cliente"),
    "cost_synchronization": ("synchronization", "sincronização"),
    "cost_waits": ("waits", "esperas"),
    "cost_busiest": ("busiest process", "mais ocupado"),
    "no_common_leader": ("none on whom all agree", "nenhum em que todos concordem"),
    "the_leader": ("{leader}", "{leader}"),
    "messages_each": ("{entries}, {each:.4g} messages each", "{entries}, {each:.4g} mensagens por entrada"),
    "busiest_load": (
        "{process}, with {share:.0%} of all sending and receiving",
        "{process}, com {share:.0%} de todos os envios e recepções",
    ),
    "nobody_was_waiting": ("nobody was waiting", "ninguém esperava"),
    "no_free_entry": ("no entry was free of contention", "nenhuma entrada sem disputa"),
    "one_measure": ("{mean} ({what})", "{mean} ({what})"),
    "mean_measure": (
        "{mean:.4g} ms (mean of {what}, {least:g} to {most:g})",
        "{mean:.4g} ms (média de {what}, de {least:g} a {most:g})",
    ),
    "counted_free": ("{count:free entry}", "{count:free entry}"),
    "counted_hand_overs": ("{count:hand-over}", "{count:hand-over}"),
    "counted_entries": ("{count:entry}", "{count:entry}"),
}
