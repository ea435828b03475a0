"""`compare`: whether a candidate says the same as a stored fact, and if not, why."""

from __future__ import annotations

from collections.abc import Sequence

from factsieve.core.guard.lexicon import HARD_QUANTIFIERS
from factsieve.core.guard.model import Comparison, Features, Finding, Word
from factsieve.core.guard.thesaurus import antonyms, same_family, synonyms
from factsieve.core.guard.values import compare_values

_EXCLUSIVE = frozenset(
    (
        "antonym",
        "currency",
        "date",
        "identifier",
        "negation",
        "number",
        "quantifier",
        "substitution",
        "entity",
        "symbol",
        "time",
        "unit",
        "version",
        "direction",
        "role_order",
        "relative_time",
    )
)


class _Alignment:
    """The content words of two texts matched one to one."""

    def __init__(self, ours: Features, theirs: Features) -> None:
        self.pairs: list[tuple[int, int]] = []
        positions: dict[str, list[int]] = {}
        for index, word in enumerate(theirs.words):
            positions.setdefault(word.key, []).append(index)
        open_ours: list[int] = []
        for index, word in enumerate(ours.words):
            found = positions.get(word.key)
            if found:
                self.pairs.append((index, found.pop(0)))
            else:
                open_ours.append(index)
        left = sorted(index for rest in positions.values() for index in rest)
        self.ours = ours.words
        self.theirs = theirs.words
        keys_ours = {word.key for word in ours.words}
        keys_theirs = {word.key for word in theirs.words}
        self.open_ours = [i for i in open_ours if ours.words[i].key not in keys_theirs]
        self.open_theirs = [i for i in left if theirs.words[i].key not in keys_ours]
        self.opposites: list[tuple[int, int]] = []
        if self.open_ours and self.open_theirs:
            self._match(lambda a, b: a.role != "c" and antonyms(a.surface, b.surface, a.key, b.key), self.opposites)
            self._match(
                lambda a, b: a.role != "c" and (same_family(a.key, b.key) or synonyms(a.surface, b.surface)), self.pairs
            )
            self._join(self.open_ours, self.open_theirs, self.ours, self.theirs)
            self._join(self.open_theirs, self.open_ours, self.theirs, self.ours)

    def _match(self, test, into) -> None:
        for i in list(self.open_ours):
            for j in self.open_theirs:
                if test(self.ours[i], self.theirs[j]):
                    into.append((i, j))
                    self.open_ours.remove(i)
                    self.open_theirs.remove(j)
                    break

    @staticmethod
    def _join(whole: list[int], parts: list[int], whole_words: Sequence[Word], part_words: Sequence[Word]) -> None:
        """Match one word here with two adjoining words there: WiFi and Wi-Fi, setup and set up."""
        for i in list(whole):
            for j, k in zip(list(parts), list(parts)[1:], strict=False):
                if part_words[j].surface + part_words[k].surface == whole_words[i].surface:
                    whole.remove(i)
                    parts.remove(j)
                    parts.remove(k)
                    break


def compare(candidate: Features, stored: Features) -> Comparison:
    """Compare a candidate with a stored fact. See `Comparison` for what comes back; no error is raised for any features."""
    if candidate.folded == stored.folded and candidate.values == stored.values:
        return Comparison(same_subject=True, aligned=1.0)
    if not (candidate.judgeable and stored.judgeable):
        return Comparison(findings=(Finding("unknown_language", candidate.language, stored.language),), judgeable=False)
    findings, novelty, missing = compare_values(candidate.values, stored.values)
    alignment = _Alignment(candidate, stored)
    findings += _polarity(candidate, stored, alignment)
    marked, marked_novelty, marked_missing = _marks(candidate, stored)
    findings += marked
    novelty += marked_novelty
    missing += marked_missing
    order = _order(candidate, stored, alignment)
    if order:
        findings.append(order)
    swapped, added, dropped = _words(alignment)
    findings += swapped
    novelty += added
    missing += dropped
    aligned = _aligned(alignment)
    conflict = tuple(f for f in findings if f.kind in _EXCLUSIVE) if not novelty else ()
    return Comparison(
        tuple(findings), tuple(novelty), tuple(missing), conflict, _same_subject(alignment, aligned), aligned
    )


def _polarity(candidate: Features, stored: Features, alignment: _Alignment) -> list[Finding]:
    ours, theirs, opposites = len(candidate.negations), len(stored.negations), len(alignment.opposites)
    if (ours + theirs + opposites) % 2 == 0 and (opposites or ours == theirs):
        if opposites and not (ours or theirs):
            return [
                Finding("antonym", alignment.ours[i].surface, alignment.theirs[j].surface)
                for i, j in alignment.opposites
            ]
        return []
    if opposites:
        i, j = alignment.opposites[0]
        return [Finding("antonym", alignment.ours[i].surface, alignment.theirs[j].surface)]
    return [Finding("negation", " ".join(n[0] for n in candidate.negations), " ".join(n[0] for n in stored.negations))]


def _marks(candidate: Features, stored: Features) -> tuple[list[Finding], list[Finding], list[Finding]]:
    findings: list[Finding] = []
    novelty: list[Finding] = []
    missing: list[Finding] = []
    if candidate.marks == stored.marks:
        return findings, novelty, missing
    for kind in ("question", "hedge", "quantifier", "modality", "tense"):
        ours = {value: text for k, value, text in candidate.marks if k == kind}
        theirs = {value: text for k, value, text in stored.marks if k == kind}
        if kind == "quantifier":
            ours = {v: t for v, t in ours.items() if v in HARD_QUANTIFIERS}
            theirs = {v: t for v, t in theirs.items() if v in HARD_QUANTIFIERS}
        if kind == "tense":
            if set(ours) != set(theirs) and ours and theirs and not set(ours) & set(theirs):
                findings.append(Finding(kind, *_texts(ours, theirs)))
            continue
        if ours.keys() == theirs.keys():
            continue
        findings.append(Finding(kind, *_texts(ours, theirs)))
    return findings, novelty, missing


def _texts(ours: dict[str, str], theirs: dict[str, str]) -> tuple[str, str]:
    return " ".join(sorted(t for v, t in ours.items() if v not in theirs)), " ".join(
        sorted(t for v, t in theirs.items() if v not in ours)
    )


def _order(candidate: Features, stored: Features, alignment: _Alignment) -> Finding | None:
    pairs = sorted(alignment.pairs)
    targets = [j for _, j in pairs]
    if targets == sorted(targets) or any(word.role == "c" for word in candidate.words):
        return None
    if candidate.passive != stored.passive:
        return None
    for low, (i, j) in enumerate(pairs):
        for middle in range(low + 1, len(pairs)):
            if pairs[middle][1] >= j:
                continue
            for high in range(middle + 1, len(pairs)):
                if pairs[high][1] < pairs[middle][1] and not (
                    alignment.ours[i].group == alignment.ours[pairs[high][0]].group
                ):
                    return Finding("role_order", alignment.ours[i].surface, alignment.ours[pairs[high][0]].surface)
    return None


def _words(alignment: _Alignment) -> tuple[list[Finding], list[Finding], list[Finding]]:
    ours = [i for i in alignment.open_ours if alignment.ours[i].role in "nwc"]
    theirs = [j for j in alignment.open_theirs if alignment.theirs[j].role in "nwc"]
    if not ours:
        return [], [], [Finding("novelty", "", alignment.theirs[j].surface) for j in theirs]
    if theirs:
        swapped = []
        for i, j in zip(ours, theirs, strict=False):
            name = alignment.ours[i].role == "n" or alignment.theirs[j].role == "n"
            swapped.append(
                Finding("entity" if name else "substitution", alignment.ours[i].surface, alignment.theirs[j].surface)
            )
        return swapped, [Finding("novelty", alignment.ours[i].surface, "") for i in ours[len(theirs) :]], []
    return [], [Finding("novelty", alignment.ours[i].surface, "") for i in ours], []


def _aligned(alignment: _Alignment) -> float:
    size_ours = sum(word.role != "r" for word in alignment.ours)
    size_theirs = sum(word.role != "r" for word in alignment.theirs)
    if not size_ours or not size_theirs:
        return 1.0 if size_ours == size_theirs else 0.0
    open_ours = sum(alignment.ours[i].role != "r" for i in alignment.open_ours)
    open_theirs = sum(alignment.theirs[j].role != "r" for j in alignment.open_theirs)
    return min(1 - open_ours / size_ours, 1 - open_theirs / size_theirs)


def _same_subject(alignment: _Alignment, aligned: float) -> bool:
    return aligned >= 0.5
