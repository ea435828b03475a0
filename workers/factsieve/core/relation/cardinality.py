"""Whether a label or a question has one answer at a time, or can have many."""

from __future__ import annotations

from typing import Final

from factsieve.core.relation import words as w
from factsieve.core.relation.tokens import Token, tokenise, verb_base

ONE: Final = "one"
MANY: Final = "many"
_WH: Final = w.words("who what which when where how whose whos who's what's whats when's where's why")
_EVER: Final = w.words("ever famous different various several some any other examples types kinds")
_LISTING: Final = w.words("list name all some every any examples")
_LATEST: Final = (w.SUPERLATIVES - w.words("record top official")) | w.words(
    "maximum minimum longest-serving newly recently reigning defending serving acting interim now"
)
_GRADED: Final = w.words(
    "old young new tall short long high low large small great fast slow rich poor heavy light strong weak deep wide narrow cheap late"
    " near close hot cold warm cool bright dark dry wet hard soft easy busy happy ugly pretty deadly steep loud quiet rare safe smart clean"
    " dirty simple tough thick thin fat wealthy healthy mighty strict big sad far fit grand clear quick early lonely bloody costly noisy"
)
_TRAILING: Final = w.PREPOSITIONS | {"with", "for"}
_STATIVE_ONE: Final = w.words("own hold lead head run chair captain manage represent coach govern command")
_ONCE: Final = w.words(
    "born die found founded start begin end open close air release launch publish premiere debut film amend expire due come"
)
_ANCHORS: Final = w.words("last latest most year season today now ever")
_PLURAL_OK: Final = w.words(
    "news series species status class address business process access bus gas boss campus virus corpus pass loss cross press basis analysis"
    " athletics politics physics mathematics economics united states wales paris texas"
)


def _numeric(value: str) -> bool:
    tokens = tokenise(value)
    return bool(tokens) and tokens[0].number and len(tokens) <= 4


def cardinality_of(label: str, ours: str, theirs: str) -> str | None:
    """Return whether a label has one value at a time, can have many, or None where it cannot be told."""
    tokens = tokenise(label)
    lows = [t.low for t in tokens]
    if not lows:
        return None
    question = any(low in _WH for low in lows[:1]) or any(
        low in ("how", "who", "what", "which", "when", "where") for low in lows
    )
    if "one" in lows and "of" in lows[lows.index("one") + 1 : lows.index("one") + 2]:
        return MANY
    if question:
        return _question(tokens, lows, ours, theirs)
    return _noun_label(tokens, lows, ours, theirs)


def _superlative(tokens: list[Token] | tuple[Token, ...]) -> bool:
    """Return whether a word picks out one: a superlative, "last", "current", "only"; not "the last ten", not "top songs"."""
    for index, token in enumerate(tokens):
        if token.low not in _LATEST and not _most(token.low) and token.low != "top":
            continue
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if following is not None and following.number and token.low in ("first", "last", "top", "next"):
            return False
        return not (token.low == "top" and (following is None or _plural(following)))
    return False


def _most(low: str) -> bool:
    """Return whether a word is an adjective's superlative in -est."""
    if not low.endswith("est"):
        return False
    stem = low[:-3]
    options = {stem, stem + "e", stem[:-1], stem.removesuffix("i") + "y"}
    return bool(options & _GRADED)


def _plural(token: Token) -> bool:
    low = token.low
    return (low.endswith("s") and not low.endswith(("ss", "us", "is", "'s")) and low not in _PLURAL_OK) or low in (
        "people",
        "men",
        "women",
        "children",
        "feet",
        "teeth",
        "mice",
        "countries",
    )


def _question(tokens: tuple[Token, ...], lows: list[str], ours: str, theirs: str) -> str | None:
    at = next(
        (
            i
            for i, low in enumerate(lows)
            if low in ("how", "who", "what", "which", "when", "where", "whose") or low in _WH
        ),
        0,
    )
    word = lows[at]
    rest = tokens[at + 1 :]
    after = [t.low for t in rest]
    if not after:
        return None
    picked = _superlative(rest)
    if word == "how":
        return (
            ONE
            if after[0]
            in (
                "many",
                "much",
                "old",
                "long",
                "far",
                "tall",
                "big",
                "high",
                "deep",
                "wide",
                "large",
                "often",
                "heavy",
                "fast",
                "late",
                "early",
                "hot",
                "cold",
                "strong",
            )
            else None
        )
    if word == "when" or word.startswith("when"):
        return _when(after, picked)
    if word == "where" or word.startswith("where"):
        return _where(after, picked)
    if any(low in _EVER for low in after):
        return MANY
    if word in ("what", "which", "whats", "what's", "whose"):
        return _what(rest, after, picked)
    return _who(rest, after, picked)


def _when(after: list[str], picked: bool) -> str | None:
    if picked or "next" in after or "new" in after:
        return ONE
    if after[0] in ("has", "have", "had"):
        return MANY
    if after[0] in ("is", "does", "do", "will", "are", "'s"):
        return ONE
    if after[0] in ("was", "were", "did") and any(
        (verb_base(low) or (low, ""))[0] in _ONCE or low in _ONCE for low in after[1:]
    ):
        return ONE
    return None


def _where(after: list[str], picked: bool) -> str | None:
    if picked or "next" in after:
        return ONE
    if after[0] in ("is", "'s", "are"):
        return (
            MANY
            if any(
                low in ("spoken", "grown", "sold", "found", "available", "used", "offices", "branches", "stores")
                for low in after
            )
            else ONE
        )
    if after[0] == "does" and any(
        low
        in (
            "live",
            "reside",
            "have",
            "keep",
            "sit",
            "stand",
            "come",
            "train",
            "practice",
            "practise",
            "start",
            "begin",
            "end",
        )
        for low in after
    ):
        return ONE
    if after[0] == "was" and any(
        low in ("born", "held", "founded", "discovered", "played", "filmed", "built", "signed", "buried")
        for low in after
    ):
        return ONE
    return None


def _what(rest: tuple[Token, ...], after: list[str], picked: bool) -> str | None:
    if after[-1] in _TRAILING:
        return None
    if after[0] in ("is", "was", "'s"):
        following = after[1:2]
        if following and following[0] in ("a", "an", "one", "some"):
            return MANY
        head = _head_noun(rest[1:])
        if head is None:
            return ONE if picked else None
        if _plural(head) and not picked:
            return MANY
        if head.key in w.MANY_NOUNS and not picked:
            return MANY
        return ONE
    if after[0] in ("are", "were", "do", "does", "did", "has", "have", "can", "could", "will", "would"):
        return MANY if not picked else None
    head = _head_before_verb(rest)
    if head is not None and _plural(head):
        return MANY
    if picked:
        return ONE
    if head is not None and head.key in w.ONE_NOUNS and head.key not in w.MANY_NOUNS:
        return ONE if any(t.low in ("is", "was", "'s") for t in rest) else None
    return None


def _who(rest: tuple[Token, ...], after: list[str], picked: bool) -> str | None:
    first = after[0]
    if picked:
        return MANY if first in ("are", "were") and "the" not in after[:2] else ONE
    if first in ("are", "were"):
        return MANY
    if first in ("is", "was", "'s"):
        following = after[1:2]
        if following and following[0] in ("a", "an", "one", "some"):
            return MANY
        if "charge" in after[2:4]:
            return ONE
        head = _head_noun(rest[1:])
        if head is None or _plural(head) or head.low in ("part", "member", "among", "friend", "friends"):
            return MANY
        if head.key in w.MANY_NOUNS and following and following[0] not in ("the",):
            return MANY
        base = verb_base(head.low)
        if base is not None and base[1] in ("ing", "past"):
            return None
        if head.key in (
            "member",
            "friend",
            "player",
            "author",
            "brother",
            "sister",
            "son",
            "daughter",
            "actor",
            "actress",
            "singer",
            "student",
            "child",
            "cousin",
        ):
            return None
        return ONE
    base_of = (verb_base(first) or (first, ""))[0]
    if base_of in _STATIVE_ONE and first not in ("has", "have", "had"):
        return ONE if len(rest) > 1 and not _plural(rest[1]) and after[1] not in ("a", "an", "some") else None
    if base_of == "win":  # a contest without its year is won by one after another
        return ONE if _ANCHORS & set(after) or any(t.number for t in rest) else None
    if first in ("has", "have", "had") and after[1:2] == ["the"] and not any(verb_base(low) for low in after[2:3]):
        return ONE if not any(_plural(t) for t in rest[2:4]) else None
    if base_of == "become" and "the" in after[1:2]:
        return ONE
    return None if first in ("did", "does", "do", "is") else MANY


def _head_noun(tokens: tuple[Token, ...]) -> Token | None:
    """Return the head of the noun phrase at the start: the last word before a preposition, verb or end."""
    head: Token | None = None
    for index, token in enumerate(tokens):
        if (
            token.low in w.PREPOSITIONS
            or token.low in w.PRONOUNS
            or token.low in w.BE
            or token.low in w.HAVE
            or token.low in ("that", "to")
        ):
            break
        if token.low == "'s":
            head = None
            continue
        if index and head is not None and verb_base(token.low) is not None and verb_base(token.low)[1] in ("past",):  # type: ignore[index]
            break
        if token.low not in w.DETERMINERS:
            head = token
    return head


def _head_before_verb(tokens: tuple[Token, ...]) -> Token | None:
    head: Token | None = None
    for token in tokens:
        base = verb_base(token.low)
        if (
            token.low in w.BE
            or token.low in w.HAVE
            or token.low in w.DO
            or token.low in w.MODALS
            or token.low in w.PREPOSITIONS
            or (head is not None and base is not None and base[1] in ("s", "past"))
        ):
            break
        head = token
    return head


def _noun_label(tokens: tuple[Token, ...], lows: list[str], ours: str, theirs: str) -> str | None:
    if lows[0] in _EVER or lows[0] in _LISTING:
        return ONE if _numeric(ours) and _numeric(theirs) else MANY
    head = _head_noun(tokens)
    picked = _superlative(tokens)
    if w.same_scale({t.low for t in tokenise(ours)}, {t.low for t in tokenise(theirs)}):
        return ONE
    if head is None:
        return None
    if _plural(head) and not (_numeric(ours) and _numeric(theirs)):
        return MANY if not picked else None
    if picked:
        return ONE
    if head.key in w.ONE_NOUNS:
        return ONE
    if head.key in w.MANY_NOUNS:
        return MANY
    if _numeric(ours) and _numeric(theirs) and not any(t.number for t in tokens[-1:]):
        return ONE
    return None
