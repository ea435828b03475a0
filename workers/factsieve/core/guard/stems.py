"""Words to their normal forms: contractions opened, inflection taken off (Snowball), irregular forms of English known."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any, Final

import snowballstemmer

_ALGORITHMS: Final = {
    "en": "english", "de": "german", "es": "spanish", "fr": "french", "it": "italian", "pt": "portuguese", "nl": "dutch", "ru": "russian",
    "ar": "arabic", "tr": "turkish", "hi": "hindi",
}  # fmt: skip
_STEMMERS: Final[dict[str, Any]] = {}
_LOCK: Final = threading.Lock()  # a stemmer object works on state of its own

_IRREGULAR_ROWS: Final = (
    "be was were been am are is; begin began begun; bite bit bitten; blow blew blown; break broke broken; bring brought; build built; buy bought; catch caught;"
    " choose chose chosen; come came; cut cuts; deal dealt; dig dug; do did done does; draw drew drawn; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen;"
    " feed fed; feel felt; fight fought; find found; fly flew flown flies; forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten;"
    " give gave given; go went gone goes; grow grew grown; hang hung; have had has; hear heard; hide hid hidden; hold held; keep kept; know knew known; lay laid; lead led;"
    " leave left; lend lent; leap leapt; lean leant; learn learnt; dream dreamt; burn burnt; spell spelt; spill spilt; spoil spoilt; let lets; lie lain; light lit; lose lost; make made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung; rise rose risen;"
    " run ran; say said; see saw seen; seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung;"
    " sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin spun; split splits; spread spreads; stand stood; steal stole stolen; stick stuck;"
    " strike struck; swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown;"
    " understand understood; wake woke woken; wear wore worn; win won; withdraw withdrew withdrawn; write wrote written; wind wound; undo undid undone; overcome overcame;"
    " man men; woman women; child children; foot feet; tooth teeth; mouse mice; goose geese; person people; knife knives; wife wives; life lives; leaf leaves; shelf shelves;"
    " half halves; analysis analyses; basis bases; crisis crises; index indices indexes; datum data; medium media; criterion criteria; matrix matrices; ox oxen; loaf loaves;"
    " die died dying dies; tie tying; good well"
)  # fmt: skip
_IRREGULAR: Final = {
    form: row.split()[0] for row in _IRREGULAR_ROWS.split(";") for form in row.split()[1:] if form != "well"
}

PARTICIPLES: Final = frozenset(
    [
        form
        for row in _IRREGULAR_ROWS.split(";")
        for form in row.split()[-1:]
        if form not in ("does", "goes", "is", "cuts", "splits", "spreads", "lets")
    ]
    + [
        "cut",
        "put",
        "set",
        "hit",
        "read",
        "spread",
        "split",
        "let",
        "shut",
        "hurt",
        "cast",
        "run",
        "come",
        "become",
        "built",
        "sent",
        "lent",
        "spent",
        "held",
        "told",
        "sold",
        "made",
        "paid",
        "said",
        "laid",
        "led",
        "fed",
        "bought",
        "brought",
        "caught",
        "taught",
        "sought",
    ]
)
"""Irregular past participles of English."""
_BRITISH: Final = (
    ("isation", "ization"),
    ("ising", "izing"),
    ("ised", "ized"),
    ("ise", "ize"),
    ("yse", "yze"),
    ("ysed", "yzed"),
    ("our", "or"),
    ("oured", "ored"),
    ("ouring", "oring"),
    ("tre", "ter"),
    ("ogue", "og"),
    ("elling", "eling"),
    ("elled", "eled"),
)
_NOT_BRITISH: Final = frozenset(
    [
        "our",
        "hour",
        "four",
        "pour",
        "tour",
        "sour",
        "your",
        "flour",
        "devoured",
        "scoured",
        "touring",
        "pouring",
        "soured",
        "toured",
        "poured",
        "wise",
        "rise",
        "raise",
        "noise",
        "exercise",
        "promise",
        "advise",
        "surprise",
        "otherwise",
        "likewise",
        "precise",
        "concise",
        "premise",
        "praise",
        "cruise",
        "disguise",
        "supervise",
        "revise",
        "arise",
        "enterprise",
        "franchise",
        "expertise",
        "merchandise",
    ]
)

CONTRACTIONS: Final = {
    "won't": ("will", "not"), "can't": ("can", "not"), "cannot": ("can", "not"), "shan't": ("shall", "not"), "ain't": ("is", "not"), "let's": ("let",), "i'm": ("i", "am"),
    "gonna": ("will",), "wanna": ("wants",), "dont": ("do", "not"), "doesnt": ("does", "not"), "isnt": ("is", "not"), "wasnt": ("was", "not"), "arent": ("are", "not"),
    "didnt": ("did", "not"), "cant": ("can", "not"), "wont": ("will", "not"), "hasnt": ("has", "not"), "havent": ("have", "not"), "couldnt": ("could", "not"),
    "shouldnt": ("should", "not"), "wouldnt": ("would", "not"), "'s": ("is",), "y'all": ("you",),
}  # fmt: skip
_ENDINGS: Final = {"re": "are", "ve": "have", "ll": "will", "d": "would", "m": "am"}


def open_contraction(lower: str) -> tuple[str, ...]:
    """Return the words in a contraction, in lower case: don't = do not; a possessive 's falls away."""
    known = CONTRACTIONS.get(lower)
    if known is not None:
        return known
    if "'" not in lower:
        return (lower,)
    if lower.endswith("n't"):
        return (lower[:-3], "not")
    head, _, tail = lower.rpartition("'")
    if tail in _ENDINGS:
        return (head, _ENDINGS[tail])
    if tail == "s" or not tail:
        return (head,)
    if len(head) <= 2:  # l'archive, d'accord, qu'il
        return (head, tail)
    return (lower.replace("'", ""),)


def base_form(lower: str) -> str:
    """Return the base form of an irregular English form, else the word itself."""
    return _IRREGULAR.get(lower, lower)


@lru_cache(maxsize=65536)
def stem(lower: str, language: str) -> str:
    """Return the normal form of a word in lower case. Words of languages without a stemmer stay as they are."""
    if language == "en":
        lower = _IRREGULAR.get(lower, lower)
        if lower not in _NOT_BRITISH:
            for british, american in _BRITISH:
                if lower.endswith(british) and len(lower) > len(british) + 2:
                    lower = lower[: -len(british)] + american
                    break
    elif language == "ko":
        return _strip_korean(lower)
    algorithm = _ALGORITHMS.get(language)
    if algorithm is None or len(lower) > 60:
        return lower
    with _LOCK:
        stemmer = _STEMMERS.get(language)
        if stemmer is None:
            stemmer = _STEMMERS[language] = snowballstemmer.stemmer(algorithm)
        return str(stemmer.stemWord(lower))


_PARTICLES: Final = (
    "입니다",
    "이에요",
    "이다",
    "예요",
    "에서는",
    "에게서",
    "으로",
    "에서",
    "에게",
    "까지",
    "부터",
    "처럼",
    "보다",
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "에",
    "의",
    "로",
    "와",
    "과",
    "도",
    "만",
)


def _strip_korean(word: str) -> str:
    for particle in _PARTICLES:
        if word.endswith(particle) and len(word) > len(particle) + 1:
            return word[: -len(particle)]
    return word


def is_past_of(past: str, present: str) -> bool:
    """Return whether one English verb form is the simple past of another one in the present: `planned`, `plans`; `went`, `go`."""
    if past in _IRREGULAR and not past.endswith("s"):
        base = _IRREGULAR[past]
        told = _IRREGULAR.get(present, base) if present.endswith("s") else base
        return (
            present != past
            and told == base
            and present in (base, base + "s", base + "es", "has")
            and base not in _NO_VERBS
        )
    if not past.endswith("ed"):
        return False
    root = past.removesuffix("ed")
    bases = {root, root + "e"}
    if root.endswith("i"):
        bases = {root[:-1] + "y"}
    elif len(root) > _DOUBLED and root[-1] == root[-2]:
        bases.add(root[:-1])
    return any(present in (base, base + "s", base + "es") for base in bases) or (
        root.endswith("i") and present == root + "es"
    )


_DOUBLED: Final = 3
_NO_VERBS: Final = frozenset(
    [
        "man",
        "woman",
        "child",
        "foot",
        "tooth",
        "mouse",
        "goose",
        "person",
        "half",
        "analysis",
        "basis",
        "crisis",
        "index",
        "datum",
        "medium",
        "criterion",
        "matrix",
        "ox",
        "loaf",
        "good",
    ]
)
