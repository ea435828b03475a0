"""Build the guard's thesaurus from the database files of WordNet 3.0 (folder with `data.noun`, `index.noun`, `cntlist.rev`, ...).

    python tests/quality/build_thesaurus.py DICT_FOLDER workers/factsieve/core/guard/data

`words.txt.gz` gets a line for each word, with the numbers of its senses to the base of 36. Senses are numbered by kind: adjectives, nouns,
adverbs, verbs. `synsets.bin.gz` gets how many there are of each kind, and then, for those above, those like it and those derived, how many
senses each sense points to (one byte each) and these senses (integers of four bytes, the lowest first).

Kept are the single words that are written small, with their first four senses per part of speech and those that occur in WordNet's
sense-tagged texts, then, behind a bar, what is left of the first six, and of the synsets their hypernyms, similar adjectives, and
derivationally related synsets and attributes (young, age). Debian ships the files as `wordnet-base`.
"""

import gzip
import struct
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

_POS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_POS_OF_DIGIT = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_SENSES = 4
_RARE_SENSES = 6
_ROOT = 36


def _number(value: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = ""
    while True:
        value, rest = divmod(value, _ROOT)
        text = digits[rest] + text
        if not value:
            return text


def write(
    folder: Path,
    senses: Mapping[str, Sequence[str]],
    rare: Mapping[str, Sequence[str]],
    pointers: Mapping[str, Mapping[str, Sequence[str]]],
    reached: Sequence[str],
) -> None:
    """Write the thesaurus: of these words, and of what these senses, in order, point to among themselves. A sense begins with its kind."""
    codes = {synset: index for index, synset in enumerate(reached)}
    lines = [
        " ".join(
            (
                lemma,
                *(_number(codes[s]) for s in chosen),
                *(["|"] if rare[lemma] else []),
                *(_number(codes[s]) for s in rare[lemma]),
            )
        )
        for lemma, chosen in sorted(senses.items())
    ]
    kinds = Counter(synset[0] for synset in reached)
    data = struct.pack("<4I", *(kinds[kind] for kind in sorted(_POS.values())))
    for group in "hsd":
        others = [
            [
                codes[other]
                for other in pointers[synset].get(group, ())
                if other in codes and (group != "d" or synset[0] != "r")
            ]
            for synset in reached
        ]
        flat = [code for some in others for code in some]
        data += bytes(map(len, others)) + struct.pack(f"<{len(flat)}I", *flat)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("words.txt.gz", "\n".join(lines).encode()), ("synsets.bin.gz", data)):
        (folder / name).write_bytes(gzip.compress(content, 9, mtime=0))
        print(f"{name}: {(folder / name).stat().st_size} bytes")
    print(f"{len(senses)} words, {len(reached)} synsets")


def main(folder: Path, target: Path) -> None:
    """Read the database in `folder` and write the thesaurus into the folder `target`."""
    counts: dict[tuple[str, str, int], int] = {}
    for line in (folder / "cntlist.rev").read_text("latin1").splitlines():
        key, sense, count = line.split()
        lemma, rest = key.split("%")
        counts[lemma, _POS_OF_DIGIT[rest[0]], int(sense)] = int(count)
    common = {lemma for lemma, _, _ in counts}
    members: dict[str, list[str]] = {}
    pointers: dict[str, dict[str, list[str]]] = {}
    for name, pos in _POS.items():
        for line in (folder / f"data.{name}").read_text("latin1").splitlines():
            if line.startswith("  "):
                continue
            fields = line.split("|")[0].split()
            words = int(fields[3], 16)
            at = 4 + 2 * words
            kept: dict[str, list[str]] = {}
            for index in range(int(fields[at])):
                symbol, offset, part, _ = fields[at + 1 + 4 * index : at + 5 + 4 * index]
                group = {"@": "h", "@i": "h", "&": "s", "+": "d", "\\": "d", "=": "d"}.get(symbol)
                if group:
                    kept.setdefault(group, []).append(("a" if part == "s" else part) + offset)
            pointers[pos + fields[0]] = kept
            members[pos + fields[0]] = [fields[4 + 2 * index].split("(")[0] for index in range(words)]
    senses: dict[str, list[str]] = {}
    rare: dict[str, list[str]] = {}
    for name, pos in _POS.items():
        for line in (folder / f"index.{name}").read_text("latin1").splitlines():
            if line.startswith("  "):
                continue
            fields = line.split()
            lemma = fields[0]
            offsets = fields[6 + int(fields[3]) :]
            small = any(word == lemma for offset in offsets for word in members[pos + offset])
            if not lemma.isalpha() or (len(lemma) < 3 and lemma not in common) or not small:
                continue
            chosen = [
                pos + offset
                for rank, offset in enumerate(offsets, start=1)
                if rank <= _SENSES or counts.get((lemma, pos, rank))
            ]
            senses.setdefault(lemma, []).extend(chosen)
            rare.setdefault(lemma, []).extend(pos + o for o in offsets[_SENSES:_RARE_SENSES] if pos + o not in chosen)
    reached = {synset for chosen in (*senses.values(), *rare.values()) for synset in chosen}
    frontier = reached
    for _ in range(6):
        frontier = {above for synset in frontier for above in pointers[synset].get("h", ())} - reached
        reached |= frontier
    write(target, senses, rare, pointers, sorted(reached))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
