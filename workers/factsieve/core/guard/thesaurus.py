"""Which words are opposites of each other, and which say the same."""

from __future__ import annotations

import gzip
import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from importlib import resources
from itertools import accumulate
from typing import Final, NamedTuple

from factsieve.core.guard.lexicon import ANTONYM_PAIRS, OTHER_ANTONYM_PAIRS
from factsieve.core.guard.prose import groups_of
from factsieve.core.guard.stems import base_form, stem


def _pairs() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for row in (ANTONYM_PAIRS + ";" + OTHER_ANTONYM_PAIRS).split(";"):
        words = row.split()
        if len(words) == 2:
            for left, right in (words, words[::-1]):
                table.setdefault(left, set()).add(right)
                table.setdefault(stem(left, "en"), set()).add(stem(right, "en"))
    return {word: frozenset(others) for word, others in table.items()}


_ANTONYMS: Final = _pairs()
_NEGATIVE_PREFIXES: Final = ("un", "in", "im", "il", "ir", "dis", "non", "de", "a", "mis", "anti")


def opposites_of(word: str) -> frozenset[str]:
    """Return the listed opposites of a word or of a stem."""
    return _ANTONYMS.get(word, _NONE)


_NONE: Final[frozenset[str]] = frozenset()
_NOT_NEGATED: Final = frozenset(
    [
        "invaluable",
        "inflammable",
        "indifferent",
        "disease",
        "debug",
        "deserve",
        "decline",
        "deliver",
        "inform",
        "involve",
        "install",
        "increase",
        "income",
        "indeed",
        "inside",
        "unless",
        "until",
        "under",
    ]
)
_NEGATIVE_SUFFIXES: Final = (("less", "ful"), ("less", ""))


@lru_cache(maxsize=16384)
def antonyms(a: str, b: str, stem_a: str, stem_b: str) -> bool:
    """Return whether two words (as written, and their stems) are opposites: by the list, or by a negating prefix or suffix on one of them."""
    if b in _ANTONYMS.get(a, ()) or stem_b in _ANTONYMS.get(stem_a, ()):
        return True
    for longer, shorter in ((stem_a, stem_b), (stem_b, stem_a)):
        if (
            len(shorter) >= 3
            and longer.endswith(shorter)
            and longer[: -len(shorter)].rstrip("-") in _NEGATIVE_PREFIXES
            and len(longer) - len(shorter) > 1
        ):
            return True
    for longer, shorter in ((a, b), (b, a)):
        for negative, positive in _NEGATIVE_SUFFIXES:
            if longer.endswith(negative) and len(longer) > 6 and shorter == longer[: -len(negative)] + positive:
                return True
    return False


@lru_cache(maxsize=16384)
def same_family(a: str, b: str, *, fuzzy: bool) -> bool:
    """Return whether two stems differ in their ending only: derive, derivation. Unless `fuzzy` one must begin with the whole of the other."""
    if a == b:
        return True
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) < 4:
        return False
    shared = 0
    for x, y in zip(shorter, longer, strict=False):
        if x != y:
            break
        shared += 1
    if len(longer) - shared > 5:
        return False
    return shared == len(shorter) or (fuzzy and len(shorter) - shared <= 2 and shared * 10 >= len(shorter) * 7)


_WORDS: Final = "words.txt.gz"
_SYNSETS: Final = "synsets.bin.gz"
_DEPTH: Final = 9
"""How many steps up a more general word may lie: from dog by canine, carnivore, mammal and others to animal."""
_TITLES: Final = frozenset(["mr", "mrs", "ms", "miss", "dr", "sir", "madam", "prof"])
_ENDINGS: Final = (
    ("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x"), ("s", ""), ("ied", "y"), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ("er", "e"), ("er", ""), ("est", "e"), ("est", ""), ("ier", "y"), ("iest", "y"),
)  # fmt: skip


class _Relation:
    """Which senses each sense points to: all of them in one array, since to look up some dozens at random is waiting for memory."""

    __slots__ = ("_starts", "_targets")

    def __init__(self, counts: Iterable[int], targets: Sequence[int]) -> None:
        self._starts = array("I", accumulate(counts, initial=0))
        self._targets = targets

    def of(self, sense: int) -> Sequence[int]:
        """Return the senses that one points to."""
        return self._targets[self._starts[sense] : self._starts[sense + 1]]


class _Network(NamedTuple):
    """The words' senses, by number, and how these relate. Numbers go by kind."""

    words: dict[str, str]
    adjectives: range
    nouns: range
    verbs: range
    above: _Relation  # more general: of nouns and verbs
    like: _Relation  # of adjectives
    derived: _Relation


@lru_cache(maxsize=1)
def _network() -> _Network:
    """Read the thesaurus, made from WordNet 3.0 by `tests/quality/build_thesaurus.py`; its licence lies beside it."""
    words = dict(line.split(" ", 1) for line in _read(_WORDS).decode().split("\n"))
    data = memoryview(_read(_SYNSETS))
    adjectives, nouns, adverbs, verbs = accumulate(_integers(data[:16]))
    relations, at = [], 16
    for _ in range(3):
        counts = data[at : at + verbs]
        at += verbs
        end = at + 4 * sum(counts)
        relations.append(_Relation(counts, _integers(data[at:end])))
        at = end
    return _Network(words, range(adjectives), range(adjectives, nouns), range(adverbs, verbs), *relations)


def _read(name: str) -> bytes:
    return gzip.decompress(resources.files("factsieve.core.guard").joinpath("data", name).read_bytes())


def _integers(data: memoryview) -> array[int]:
    """Return the integers of four bytes each, the lowest byte first."""
    found = array("I", data.tobytes())
    if sys.byteorder == "big":
        found.byteswap()
    return found


def warm() -> None:
    """Load the thesaurus now (about 60 ms) instead of at the first comparison that needs it."""
    _network()


@lru_cache(maxsize=16384)
def _both(word: str) -> tuple[frozenset[int], frozenset[int]]:
    """Return the common senses of a word as written, of its own form and of the base forms it may be an inflection of, and the rarer ones."""
    words = _network().words
    found: list[str] = []
    rare: list[str] = []
    forms = {word, base_form(word)}
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            base = word[: -len(ending)] + replacement
            forms.add(base)
            if not replacement and len(base) > 3 and base[-1] == base[-2]:
                forms.add(base[:-1])
    for form in forms:
        common, _, others = words.get(form, "").partition("|")
        found += common.split()
        rare += others.split()
    return frozenset(map(_number, found)), frozenset(map(_number, rare))


def _number(written: str) -> int:
    return int(written, 36)


def _senses(word: str) -> frozenset[int]:
    return _both(word)[0]


def known(word: str) -> bool:
    """Return whether the thesaurus has the word: if not, it may be a name."""
    return bool(_senses(word))


@lru_cache(maxsize=65536)
def normal_form(lower: str, language: str, *, written_small: bool) -> str:
    """Return the stem of a word. A word of English that the thesaurus does not have may be a name: it keeps its letters, but for an ending if small."""
    if language != "en" or known(lower):
        return stem(lower, language)
    if written_small:
        if lower.endswith(("ies", "ied")):
            return lower[:-3] + "y"
        for ending in ("ing", "ed", "es", "s", "e"):
            if (
                lower.endswith(ending)
                and len(lower) > max(len(ending) + 2, 3) + (ending != "s")
                and not lower.endswith("ss")
            ):
                return lower[: -len(ending)]
    return lower


@lru_cache(maxsize=65536)
def _steps_up(sense: int) -> dict[int, int]:
    """Return the more general senses of a sense up to `_DEPTH` steps above it, each with the number of steps."""
    parents = _network().above.of(sense)
    if len(parents) == 1:
        steps = {above: further + 1 for above, further in _steps_up(parents[0]).items() if further < _DEPTH}
        steps[parents[0]] = 1
        return steps
    steps = dict.fromkeys(parents, 1)
    for parent in parents:
        for above, further in _steps_up(parent).items():
            if further < min(_DEPTH, steps.get(above, _DEPTH + 1) - 1):
                steps[above] = further + 1
    return steps


class Place:
    """Where a word stands in the thesaurus: its senses, and those that relate to them, as sets that two words are compared by.

    Each set is made when it is asked for: most words are only ever asked for one or two.
    """

    def __init__(self, word: str, senses: frozenset[int], groups: frozenset[int]) -> None:
        self._word = word
        self.senses = senses
        self.groups = groups  # of plain prose

    @cached_property
    def listed(self) -> bool:
        """Whether the thesaurus has the word: if not, it may be a name."""
        return bool(self.senses) or known(self._word)

    @cached_property
    def similar(self) -> frozenset[int]:
        """What its adjectives are like."""
        return self._beside(_network().like, _network().adjectives)

    @cached_property
    def derived(self) -> frozenset[int]:
        """What its senses are made of, or make: to decide, a decision."""
        return self._beside(_network().derived)

    @cached_property
    def manners(self) -> frozenset[int]:
        """What its verbs are a manner of."""
        return self._beside(_network().above, _network().verbs)

    @cached_property
    def rare(self) -> frozenset[int]:
        """Its senses and its rarer ones."""
        return self.senses | _both(self._word)[1] if self.senses else self.senses

    @cached_property
    def told(self) -> frozenset[int]:
        """Of a noun that names a quality: the adjectives that tell it."""
        if not self._word.endswith(_QUALITIES):
            return _NOWHERE
        adjectives = _network().adjectives
        return frozenset(sense for sense in self.derived if sense in adjectives)

    @cached_property
    def covered_by(self) -> frozenset[int]:
        """The senses, all above them and what stands beside them: whoever has one of these is covered."""
        return self.senses.union(self.similar, *map(_steps_up, self.senses))

    @cached_property
    def says(self) -> frozenset[int | str]:
        """Only where one of these is among what another word `takes` may this word say the same as that one (`says_the_same`)."""
        return self._either.union(self.similar)

    @cached_property
    def takes(self) -> frozenset[int | str]:
        """By what other words are known that say the same as this one, or more generally."""
        return self._either.union(self.covered_by)

    @cached_property
    def _either(self) -> frozenset[int | str]:
        word = self._word
        groups = [f"group {group}" for group in self.groups]
        return self.rare.union(self.told, groups, ("^" + word[:3],), ("ly",) if word.endswith("ly") else ())

    def _beside(self, relation: _Relation, kind: range | None = None) -> frozenset[int]:
        found = [relation.of(sense) for sense in self.senses if kind is None or sense in kind]
        return _NOWHERE.union(*found) if found else _NOWHERE


@lru_cache(maxsize=32768)
def place_of(word: str) -> Place | None:
    """Return where a word stands, None where the thesaurus knows nothing of it."""
    senses = _NOWHERE if word in _TITLES else _senses(word)
    groups = groups_of(word)
    return Place(word, senses, groups) if senses or groups else None


_NOWHERE: Final[frozenset[int]] = frozenset()
_QUALITIES: Final = ("ance", "ence", "ity", "ness", "ancy", "ency")
"""How nouns end that name what an adjective tells: the importance of it, a crucial part."""


@lru_cache(maxsize=65536)
def says_the_same(a: str, b: str) -> bool:
    """Return whether word `a` of a candidate is covered by word `b` of a stored fact: a synonym, a derivation or a more general word."""
    ours, theirs = place_of(a), place_of(b)
    if ours is None or theirs is None:
        return False
    if not ours.senses.isdisjoint(theirs.covered_by) or not theirs.senses.isdisjoint(ours.similar):
        return True
    if not ours.rare.isdisjoint(theirs.rare) or (ours.groups and not ours.groups.isdisjoint(theirs.groups)):
        return True
    if a[:3] == b[:3] and not (ours.senses.isdisjoint(theirs.derived) and theirs.senses.isdisjoint(ours.derived)):
        return True
    if ours.told and not (ours.told.isdisjoint(theirs.senses) and ours.told.isdisjoint(theirs.similar)):
        return True
    if theirs.told and not (theirs.told.isdisjoint(ours.senses) and theirs.told.isdisjoint(ours.similar)):
        return True
    return a[-2:] == b[-2:] == "ly" and _adjectives_agree(a, b)


def _adjectives_agree(a: str, b: str) -> bool:
    """Return whether two adverbs come from adjectives that say the same: properly, correctly."""
    one, other = _adjective_of(a), _adjective_of(b)
    return bool(one and other) and says_the_same(one, other)


@lru_cache(maxsize=4096)
def _adjective_of(adverb: str) -> str:
    """Return the adjective that an adverb in `ly` is made of, nothing where the thesaurus has none."""
    for ending, replacement in (("ily", "y"), ("ally", ""), ("bly", "ble"), ("ply", "ple"), ("ly", ""), ("ly", "l")):
        base = adverb[: -len(ending)] + replacement if adverb.endswith(ending) else ""
        if len(base) > 2 and _is_adjective(base):
            return base
    return ""


def _is_adjective(word: str) -> bool:
    return any(sense in _network().adjectives for sense in _senses(word))


@lru_cache(maxsize=16384)
def implied_by(word: str, neighbour: str) -> bool:
    """Return whether a word says nothing that its neighbour does not: its kind or its deed (`blue coloured`, `sings a song`), no agent."""
    ours, theirs = place_of(word), place_of(neighbour)
    if ours is None or theirs is None:
        return False
    if not ours.senses.isdisjoint(theirs.covered_by):
        return True
    related = not (ours.senses.isdisjoint(theirs.derived) and theirs.senses.isdisjoint(ours.derived))
    return related and not word.endswith(_AGENTS)


_AGENTS: Final = ("er", "ers", "or", "ors", "ist", "ists", "ee", "ees", "ant", "ants")


def is_narrower(a: str, b: str) -> bool:
    """Return whether verb `a` of a candidate is a more specific manner of verb `b` of a stored fact, which does not cover it then."""
    ours, theirs = place_of(a), place_of(b)
    if ours is None or theirs is None or theirs.senses.isdisjoint(ours.manners):
        return False
    return not says_the_same(a, b)


def tells_deed(word: str) -> bool:
    """Return whether a word is a form of a verb that is nothing but a verb."""
    base = base_form(word)
    return only_verb(base) if base != word else only_verb(word)


_NOT_DENIED: Final = ("display", "discuss", "dispatch", "distribut", "distress", "discount", "discharg", "dissolv", "dismiss", "disguis", "discard", "disciplin", "district", "dispos", "dispens", "discover", "disast", "disput")  # fmt: skip


@lru_cache(maxsize=16384)
def only_verb(word: str) -> bool:
    """Return whether the thesaurus knows a word as a verb and as nothing else."""
    senses = _senses(word)
    return bool(senses) and all(sense in _network().verbs for sense in senses)


DENIALS: Final = ("un", "dis", "non")


@lru_cache(maxsize=16384)
def has_denial(word: str) -> bool:
    """Return whether an adjective denies by its beginning what the rest of it says: unpaid, nonlocal, disused."""
    if word in _NOT_NEGATED or not _is_adjective(word):
        return False
    return any(
        word.startswith(prefix)
        and not word.startswith(_NOT_DENIED)
        and len(word) - len(prefix) > 3
        and known(word[len(prefix) :])
        for prefix in DENIALS
    )


@lru_cache(maxsize=16384)
def denied_synonym(a: str, b: str) -> bool:
    """Return whether one word denies a synonym of the other: unpaid, settled."""
    for longer, other in ((a, b), (b, a)):
        for prefix in ("un", "dis", "non"):
            base = longer[len(prefix) :]
            if (
                longer.startswith(prefix)
                and not longer.startswith(_NOT_DENIED)
                and len(base) > 3
                and known(base)
                and says_the_same(base, other)
                and not says_the_same(longer, other)
            ):
                return True
    return False
