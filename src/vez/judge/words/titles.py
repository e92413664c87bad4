"""Titles of the scenarios in `scenarios/`: English, as in the files, and Portuguese."""

from __future__ import annotations

from vez.judge.words.sentence import Language

TITLES: dict[str, str] = {
    "Grants in the order of arrival": "Acesso na ordem de chegada",
    "The holder dies: the lease lets the next one in": "O detentor morre: o prazo deixa entrar o próximo",
    "The holder is slow: two inside": "O detentor é só lento: dois dentro",
    "The token passes those who do not want it": "O token passa por quem não quer entrar",
    "Two permissions of three": "Duas permissões de três",
    "Seven coordinators, the one in the intersection forgets: two inside": (
        "Sete coordenadores, o da interseção perde a memória: dois dentro"
    ),
    "Coordinator 2 forgets: two inside": "O coordenador 2 perde a memória: dois dentro",
    "One permission each: nobody gets in": "Uma permissão para cada um: ninguém entra",
    "One permission each, given back: everybody gets in": "Uma permissão para cada um, devolvida: todos entram",
    "The older claim wins": "Vence o pedido mais antigo",
    "Priorities instead of timestamps: both get all replies": (
        "Prioridades em vez de marcas de tempo: ambos recebem todas as respostas"
    ),
    "Everybody votes for itself, and votes can be asked back": "Cada um vota em si, e votos podem ser pedidos de volta",
    "Everybody votes for itself: deadlock": "Cada um vota em si: deadlock",
    "5 leads and dies, 2 and 3 stand, 1 stands, 4 leads": (
        "5 lidera e morre, 2 e 3 se candidatam, 1 se candidata, 4 lidera"
    ),
    "The seven steps of the text": "Os sete passos do texto",
    "The ring of eight, started at 17": "O anel de oito, iniciado pelo 17",
    "Six processes, three rounds": "Seis processos, três rodadas",
    "The distance doubles, the competitors halve": "A distância dobra, os competidores caem pela metade",
    "The list goes round; the dead are skipped": "A lista dá a volta; os falhos são saltados",
    "A queue that everybody has, in the order of the logical clocks": (
        "Uma fila que todos têm, na ordem dos relógios lógicos"
    ),
    "A flapping process deposes the leader each time": "Um processo instável depõe o líder a cada volta",
    "A flapping process comes back without a new election": "Um processo instável volta sem nova eleição",
    "The heavier side elects, the larger side does not": "O lado mais pesado elege, o mais numeroso não",
    "Two clients in lock-step with a blocking server": "Dois clientes sincronizados com um servidor bloqueante",
    "The failures of the Luís example, with bully": "As falhas do exemplo do Luís, com o brigão",
    "The winner dies before it says so": "O vencedor morre antes de avisar",
    "One candidate on the anonymous ring": "Um candidato no anel anônimo",
    "Two candidates on the anonymous ring": "Dois candidatos no anel anônimo",
    "Started at 17, won by 28": "Iniciada pelo 17, vencida pelo 28",
    "Yo-yo with the bridge cut: split-brain": "YoYo com a ponte cortada: split-brain",
    "Yo-yo on a graph with a bridge": "YoYo em um grafo com uma ponte",
    "Disagreement while the detector is wrong": "Desacordo enquanto o detector erra",
    "Leaders as processes fail": "Líderes enquanto processos falham",
    "A forgotten vote: two leaders in one term": "Um voto esquecido: dois líderes em um mandato",
    "Partition: two leaders with bully": "Partição: dois líderes com o brigão",
    "Partition: one leader per term with majority": "Partição: um líder por mandato com maioria",
    "Partition: two coordinators with bully": "Partição: dois coordenadores com o brigão",
    "The next coordinator takes over": "O próximo coordenador assume",
    "Partition: fenced by terms with majority": "Partição: barrada por mandatos com maioria",
}


def scenario_title(title: str, language: Language) -> str:
    """The title in a language; unchanged if it has no translation."""
    return TITLES.get(title, title) if language == "pt" else title
