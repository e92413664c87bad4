"""Words of pictures of a trace, by key, in English and Portuguese. The player has its own (`player/strings.js`)."""

from __future__ import annotations

PICTURES: dict[str, tuple[str, str]] = {
    # Events, beside a lifeline.
    "drawn_wanted": ("wants in", "quer entrar"),
    "drawn_retracted": ("takes its request back", "retira o pedido"),
    "drawn_withdrew": ("stops waiting", "deixa de esperar"),
    "drawn_asked": ("asked to elect", "chamado a eleger"),
    "drawn_asked_briefly": ("asked", "chamado"),
    "drawn_left": ("outside", "fora"),
    "drawn_entered": ("inside", "dentro"),
    "drawn_entered_with": ("inside, token {token}", "dentro, ficha {token}"),
    "drawn_token": ("token {token}", "ficha {token}"),
    "drawn_refused": ("write refused, token {token} is stale", "escrita recusada, a ficha {token} é velha"),
    "drawn_refused_briefly": ("write refused", "escrita recusada"),
    "drawn_no_leader": ("knows no leader", "não conhece líder"),
    "drawn_leads": ("leads", "lidera"),
    "drawn_follows": ("follows {leader}", "segue {leader}"),
    "drawn_in_term": ("{what}, term {term}", "{what}, mandato {term}"),
    "drawn_crashed": ("crashed", "falhou"),
    "drawn_recovered": ("back", "voltou"),
    "drawn_recovered_empty": ("back without memory", "voltou sem memória"),
    "drawn_paused": ("stands still", "fica parado"),
    "drawn_resumed": ("goes on", "prossegue"),
    "drawn_suspected": ("suspects {peer}", "suspeita de {peer}"),
    "drawn_trusted": ("trusts {peer}", "confia em {peer}"),
    "drawn_fired": ("timer {timer}", "temporizador {timer}"),
    # Messages.
    "fate_copy": ("{what} (copy)", "{what} (cópia)"),
    "fate_loss": ("{what} (lost)", "{what} (perdida)"),
    "fate_partition": ("{what} (cut off)", "{what} (isolada)"),
    "fate_crash": ("{what} (nobody there)", "{what} (sem destino)"),
    "fate_flying": ("{what} (on its way)", "{what} (a caminho)"),
    "drawn_again": ("{what} again", "{what} de novo"),
    "drawn_copy": ("{what} copy", "{what} cópia"),
    "drawn_course": (
        "{what}: {one} → {to}, {start:ms} to {end:ms} ms",
        "{what}: {one} → {to}, {start:ms} a {end:ms} ms",
    ),
    # Partitions.
    "drawn_partition": ("partition {groups}", "partição {groups}"),
    "drawn_cut": ("cut {channels}", "corte {channels}"),
    "drawn_healed": ("healed {channels}", "religado {channels}"),
    "drawn_all_healed": ("partition healed", "partição desfeita"),
    "drawn_more_channels": ("{channels} and {count} more", "{channels} e mais {count}"),
    # Broken properties.
    "drawn_broken": ("{name} broken: {evidence}", "{name} (violada): {evidence}"),
    "drawn_cycle": (
        "{evidence}; a cycle: {cycle} (each waits for the next)",
        "{evidence}; um ciclo: {cycle} (cada um espera pelo seguinte)",
    ),
    # Titles and notices.
    "drawn_title": (
        "{algorithm} · {count:process} · seed {seed}",
        "{algorithm} · {count:process} · semente {seed}",
    ),
    "drawn_processes": ("{count:process}", "{count:process}"),
    "drawn_messages": ("{count:message}", "{count:message}"),
    "drawn_entries": ("{count:entry}", "{count:entry}"),
    "drawn_seed": ("seed {seed}", "semente {seed}"),
    "drawn_not": ("Not drawn: {what}.", "Não desenhado: {what}."),
    "drawn_fewer_processes": (
        "{count:,} of {all:,} processes and their messages are left out",
        "{count:,} de {all:,} processos e suas mensagens ficam de fora",
    ),
    "drawn_fewer_events": (
        "the {count:,} events from {start:ms} ms on, with {sent:,} messages, are left out",
        "os {count:,} eventos a partir de {start:ms} ms, com {sent:,} mensagens, ficam de fora",
    ),
    "drawn_fewer_labels": (
        "{count:label} without room, which the mouse shows",
        "{count:label} sem lugar, que o mouse mostra",
    ),
    "drawn_fewer_lines": ("⋮ {count:,} lines left out here", "⋮ {count:,} linhas omitidas aqui"),
    "drawn_fewer_in_mermaid": (
        "{count:,} later events left out: Mermaid takes no larger diagram",
        "{count:,} eventos posteriores omitidos: o Mermaid não aceita diagrama maior",
    ),
    "drawn_shorter": (
        "{us:ms} ms in which nothing happens, drawn shorter",
        "{us:ms} ms em que nada acontece, desenhados mais curtos",
    ),
    "drawn_for_ever": ("from here on for ever", "daqui em diante para sempre"),
    "drawn_repeats": ("this repeats for ever", "isto se repete para sempre"),
    "drawn_again_round": ("and round again", "e de novo"),
    "drawn_loop": ("for ever", "para sempre"),
    # The legend.
    "sign_waiting": ("waiting", "esperando"),
    "sign_inside": ("inside", "dentro"),
    "sign_leader": ("leader", "líder"),
    "sign_paused": ("standing still", "parado"),
    "sign_crashed": ("crashed", "falhou"),
    "sign_crashed_or_lost": ("crashed, or message lost", "falhou, ou mensagem perdida"),
    "sign_message_lost": ("message lost", "mensagem perdida"),
    "sign_lost": ("lost", "perdida"),
    "sign_copy": ("delivered again", "entregue de novo"),
    "sign_broken": ("broken", "violada"),
    "sign_outlined": ("broken: {what}", "violada: {what}"),
}
