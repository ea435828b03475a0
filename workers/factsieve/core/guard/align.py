"""The content words of two texts matched one to one, and the gaps between the matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from factsieve.core.guard.model import Features, Word
from factsieve.core.guard.thesaurus import (
    Place,
    antonyms,
    denied_synonym,
    implied_by,
    is_narrower,
    known,
    opposites_of,
    place_of,
    same_family,
    says_the_same,
)


class Gap(NamedTuple):
    """What stands between two neighbouring matches: unmatched words here and there. `framed`: the same matches enclose both sides."""

    ours: tuple[Word, ...]
    theirs: tuple[Word, ...]
    framed: bool


_INITIALS = 6
_DENIALS = ("un", "dis", "non")


def _opposite(a: Word, b: Word) -> bool:
    if b.key in opposites_of(a.key) or b.surface in opposites_of(a.surface):
        return True
    if "r" in (a.role, b.role):
        return False
    # Cheap signs first: what a negating affix leaves in common, or a prefix that may deny.
    if a.key.endswith(b.key[-3:]) or b.surface.endswith("less") or a.surface.endswith("less"):
        return antonyms(a.surface, b.surface, a.key, b.key)
    return (a.surface.startswith(_DENIALS) or b.surface.startswith(_DENIALS)) and denied_synonym(a.surface, b.surface)


def _akin(a: Word, b: Word) -> bool:
    if a.key[:4] != b.key[:4] or a.role == "n" or b.role == "n":
        return False
    return same_family(a.key, b.key, fuzzy=known(a.surface) and known(b.surface))


def _covered(a: Word, b: Word) -> bool:
    return a.role != "n" and b.role != "n" and says_the_same(a.surface, b.surface)


def _place_of(word: Word) -> Place | None:
    """Return where a word stands in the thesaurus; a name stands nowhere, nor does a piece of text without spaces."""
    return None if word.role in "nc" else place_of(word.surface)


def _may_say(ours: Place, theirs: Place) -> bool:
    return ours.listed and not ours.says.isdisjoint(theirs.takes)


def _may_narrow(ours: Place, theirs: Place) -> bool:
    return not ours.manners.isdisjoint(theirs.senses)


class Alignment:
    """Words of a candidate (`ours`) and of a stored fact (`theirs`): `pairs` match, `opposites` are antonyms, the rest stays open."""

    def __init__(self, candidate: Features, stored: Features) -> None:
        self.ours = candidate.words
        self.theirs = stored.words
        self._sizes = len(candidate.keys), len(stored.keys)
        self.pairs: list[tuple[int, int]] = []
        self.opposites: list[tuple[int, int]] = []
        self.reworded = 0
        self._share: float | None = None
        self.narrowed: list[tuple[int, int]] = []
        self.open_ours: list[int] = []
        self.open_theirs: list[int] = []
        self.repeated_ours: set[int] = set()
        self.repeated_theirs: set[int] = set()
        self._match_equal(candidate.places, stored.places)
        if self.open_ours and self.open_theirs:
            self._settle()
        if self.open_ours and not self.open_theirs:
            self._drop_implied()
        if (self.open_ours and self.repeated_theirs) or (self.open_theirs and self.repeated_ours):
            self._settle_repeated()

    def _match_equal(self, ours: dict[str, list[int]], theirs: dict[str, list[int]]) -> None:
        """Match words of one normal form, the first with the first; a form that stands on both sides is repeated where it is left over."""
        for key, here in ours.items():
            there = theirs.get(key)
            if there is None:
                self.open_ours += here
            elif len(here) == 1 == len(there):
                self.pairs.append((here[0], there[0]))
            else:
                self.pairs += zip(here, there, strict=False)
                self.repeated_ours.update(here[len(there) :])
                self.repeated_theirs.update(there[len(here) :])
        for key, there in theirs.items():
            if key not in ours:
                self.open_theirs += there
        self.pairs.sort()
        self.open_ours.sort()
        self.open_theirs.sort()

    def _settle(self) -> None:
        self._match(_opposite, self.opposites, self._may_oppose())
        self.opposites = [(i, j) for i, j in self.opposites if self.ours[i].role != "r" or self._same_neighbour(i, j)]
        before = len(self.pairs)
        heads = {self.theirs[j].key[:4] for j in self.open_theirs}
        self._join(self.open_ours, self.open_theirs, self.ours, self.theirs)
        self._join(self.open_theirs, self.open_ours, self.theirs, self.ours)
        self._match(_akin, self.pairs, lambda a: a.key[:4] in heads)
        self._spell_out(self.open_ours, self.open_theirs, self.ours, self.theirs)
        self._spell_out(self.open_theirs, self.open_ours, self.theirs, self.ours)
        self._match_meanings()
        self.reworded = len(self.pairs) - before

    def _match_meanings(self) -> None:
        """Match what says the same in other words, then what says it more narrowly, by the thesaurus."""
        there = [(j, place) for j in self.open_theirs if (place := _place_of(self.theirs[j])) is not None]
        here = {i: place for i in self.open_ours if (place := _place_of(self.ours[i])) is not None} if there else {}
        for test, into, may in (
            (says_the_same, self.pairs, _may_say),
            (is_narrower, self.narrowed, _may_narrow),
        ):
            for i, ours in list(here.items()):
                word = self.ours[i].surface
                for at, (j, theirs) in enumerate(there):
                    if may(ours, theirs) and test(word, self.theirs[j].surface):
                        into.append((i, j))
                        self.open_ours.remove(i)
                        self.open_theirs.remove(j)
                        del here[i], there[at]
                        break

    def _drop_implied(self) -> None:
        """Leave out words that a matched neighbour says already: a blue *coloured* coat, to sing *a song*."""
        matched = {i for i, _ in self.pairs}
        self.open_ours = [
            i
            for i in self.open_ours
            if self.ours[i].role not in "wp"
            or not any(
                k in matched and self.ours[k].role in "wp" and implied_by(self.ours[i].surface, self.ours[k].surface)
                for k in (i - 1, i + 1)
            )
        ]

    def _settle_repeated(self) -> None:
        """Match open words with words that the other text holds once more than this one: `use ... use`, `utilize ... use`."""
        for i in list(self.open_ours):
            for j in sorted(self.repeated_theirs):
                if self._takes(self.ours[i], self.theirs[j], (i, j)):
                    self.open_ours.remove(i)
                    self.repeated_theirs.discard(j)
                    break
        for j in list(self.open_theirs):
            for i in sorted(self.repeated_ours):
                if self._takes(self.ours[i], self.theirs[j], (i, j)):
                    self.open_theirs.remove(j)
                    self.repeated_ours.discard(i)
                    break

    def _takes(self, a: Word, b: Word, pair: tuple[int, int]) -> bool:
        if "c" in (a.role, b.role) or "r" in (a.role, b.role):
            return False
        if _opposite(a, b):
            self.opposites.append(pair)
            return True
        if _covered(a, b) or _akin(a, b):
            self._pair_in_order(pair)
            self.reworded += 1
            return True
        return False

    def _pair_in_order(self, pair: tuple[int, int]) -> None:
        """Add a pair; where one of its words stands twice, each of both is matched with the one that keeps the order."""
        i, j = pair
        for index, (k, m) in enumerate(self.pairs):
            twins = self.theirs[m].key == self.theirs[j].key or self.ours[k].key == self.ours[i].key
            if twins and (i < k) != (j < m):
                self.pairs[index] = (k, j)
                self.pairs.append((i, m))
                return
        self.pairs.append(pair)

    def _may_oppose(self) -> Callable[[Word], bool]:
        """Return a cheap test that every word passes which has an opposite among the open ones there."""
        words = [self.theirs[j] for j in self.open_theirs]
        tails = tuple({word.key[-3:] for word in words})
        if any(word.surface.endswith("less") or word.surface.startswith(_DENIALS) for word in words):
            return lambda _a: True
        return lambda a: bool(
            opposites_of(a.key)
            or opposites_of(a.surface)
            or a.key.endswith(tails)
            or a.surface.endswith("less")
            or a.surface.startswith(_DENIALS)
        )

    def _same_neighbour(self, i: int, j: int) -> bool:
        """Return whether a relation word stands beside the same word on both sides: `into the water`, `out of the water`."""
        before = i > 0 and j > 0 and self.ours[i - 1].key == self.theirs[j - 1].key
        return before or (
            i + 1 < len(self.ours) and j + 1 < len(self.theirs) and self.ours[i + 1].key == self.theirs[j + 1].key
        )

    def _match(
        self, test: Callable[[Word, Word], bool], into: list[tuple[int, int]], may: Callable[[Word], bool]
    ) -> None:
        """Match open words by `test`; `may` tells cheaply which words here can pass it at all."""
        left = self.open_theirs
        if not left:
            return
        still = []
        for i in self.open_ours:
            a = self.ours[i]
            if a.role != "c" and may(a):
                for j in left:
                    b = self.theirs[j]
                    if b.role != "c" and test(a, b):
                        into.append((i, j))
                        left.remove(j)
                        break
                else:
                    still.append(i)
            else:
                still.append(i)
        self.open_ours = still

    @staticmethod
    def _join(whole: list[int], parts: list[int], whole_words: Sequence[Word], part_words: Sequence[Word]) -> None:
        """Match one word here with two adjoining words there: WiFi and Wi-Fi, setup and set up."""
        joined: dict[str, tuple[int, int]] = {}
        for j, k in pairwise(parts):
            if k == j + 1:
                joined.setdefault(part_words[j].surface + part_words[k].surface, (j, k))
        for i in list(whole) if joined else ():
            j, k = joined.get(whole_words[i].surface, (-1, -1))
            if j in parts and k in parts:
                whole.remove(i)
                parts.remove(j)
                parts.remove(k)

    @staticmethod
    def _spell_out(short: list[int], long: list[int], short_words: Sequence[Word], long_words: Sequence[Word]) -> None:
        """Match an abbreviation here with the words there whose initials it is: NLP, natural language processing."""
        for i in list(short):
            letters = short_words[i].surface
            size = len(letters)
            if not 2 <= size <= _INITIALS or short_words[i].role != "n":
                continue
            for at in range(len(long) - size + 1):
                run = long[at : at + size]
                if run[-1] - run[0] == size - 1 and all(
                    long_words[j].surface.startswith(letter) for j, letter in zip(run, letters, strict=True)
                ):
                    short.remove(i)
                    long[at : at + size] = []
                    break

    def gaps(self) -> list[Gap]:
        """Return the gaps that hold open words, in the order of `ours`, then what is open in `theirs` and lies in none of them."""
        if not self.open_ours and not self.open_theirs and not (self.repeated_ours and self.repeated_theirs):
            return []
        matched = sorted([*self.pairs, *self.opposites, *self.narrowed])
        frames = [(-1, -1), *matched, (len(self.ours), len(self.theirs))]
        open_ours, open_theirs = set(self.open_ours), set(self.open_theirs)
        targets = sorted([-1, *(j for _, j in matched), len(self.theirs)])
        after = dict(pairwise(targets))
        found = []
        for (i0, j0), (i1, j1) in pairwise(frames):
            framed = after.get(j0) == j1
            if i1 == i0 + 1 and (not framed or j1 == j0 + 1):
                continue  # nothing stands between
            ours = tuple([self.ours[i] for i in range(i0 + 1, i1) if i in open_ours])
            if framed and not ours:  # a word said twice here stands where another word said twice stands there
                twice = tuple(self.ours[i] for i in range(i0 + 1, i1) if i in self.repeated_ours)
                there = tuple(self.theirs[j] for j in range(j0 + 1, j1) if j in self.repeated_theirs)
                if twice and there:
                    found.append(Gap(twice, there, framed))
                    continue
            inside = [j for j in range(j0 + 1, j1) if j in open_theirs] if framed else []
            open_theirs.difference_update(inside)
            theirs = tuple([self.theirs[j] for j in inside])
            if ours or theirs:
                found.append(Gap(ours, theirs, framed))
        if open_theirs:
            found.append(Gap((), tuple(self.theirs[j] for j in sorted(open_theirs)), framed=False))
        return found

    def share(self) -> float:
        """Return the share of content words that align, of both directions the smaller."""
        if self._share is None:
            self._share = self._count_share()
        return self._share

    def _count_share(self) -> float:
        size_ours, size_theirs = self._sizes
        if not size_ours or not size_theirs:
            return 1.0 if size_ours == size_theirs else 0.0
        open_ours = len([i for i in self.open_ours if self.ours[i].role != "r"])
        open_theirs = len([j for j in self.open_theirs if self.theirs[j].role != "r"])
        return min(1 - open_ours / size_ours, 1 - open_theirs / size_theirs)
