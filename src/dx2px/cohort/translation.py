"""ICD-9-CM procedures as families of ICD-10-PCS codes, by the General Equivalence Mappings (GEMs) of CMS.

The maps are files of the user's, in the forms that CMS published: `gem_i9pcs.txt` (from ICD-9 to ICD-10-PCS) and
`gem_pcsi9.txt` (the reverse), each line a code, its target and five digits; or a CSV with the columns `icd9pcs`,
`icd10pcs` and `flags`. The digits are those of `dx2px.codes.equivalence`. The reverse map is asked only for procedures
to which the other gives no code, such as stents: ICD-10-PCS has them as a device of another procedure.

A family is what the alternatives of a procedure share: for each of them, the shortest beginning, of four characters at
least, under which all codes of the map are alternatives of the procedure. If that makes too many patterns, the family
is, for each of the three root operations with the most alternatives, the pattern that holds them all. If all codes of
one procedure are among those of another in the same category, with the same first five characters, ICD-10-PCS hardly
tells them apart, and both become the larger family: 74.0, 74.1 and 74.99 are all `10D00`.
"""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from dx2px.codes import System, family, hull, joined, split
from dx2px.codes.catalogue import under
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.verdicts import NO_PCS, NOT_IN_MAP, Verdicts
from dx2px.errors import CohortError
from dx2px.words import counted

_MOST_GROUPS = 3  # patterns of a family
_LONGEST = 48  # characters of a family
_PART, _APPROACH = 4, 5  # characters up to the body part, and to the approach

Codes = frozenset[str]  # ICD-10-PCS codes, bare


@dataclass(frozen=True)
class PcsMap:
    """What stands for each ICD-9-CM procedure, bare: sets of alternatives, of each of which one is meant.

    A procedure without an equivalent has no set.
    """

    alternatives: Mapping[str, tuple[Codes, ...]]

    @classmethod
    def read(cls, path: Path) -> PcsMap:
        """Read the maps in a folder, or one file.

        Raises:
            CohortError: There are none, or a line cannot be read.
        """
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        forward: dict[str, list[tuple[str, str]]] = defaultdict(list)
        reverse: dict[str, set[str]] = defaultdict(set)
        for file in (one for one in files if one.is_file()):
            for source, target, flags in _rows(file):
                if len(source) == 7:
                    reverse[target].add(source)
                else:
                    forward[source].append((target, flags))
        if not forward and not reverse:
            raise CohortError(
                f"{path} has no map of procedures: it needs CMS's gem_i9pcs.txt or gem_pcsi9.txt, or a CSV with the "
                "columns icd9pcs, icd10pcs and flags."
            )
        found = {code: _sets(rows) for code, rows in forward.items()}
        found |= {code: (frozenset(codes),) for code, codes in reverse.items() if not found.get(code)}
        return cls(found)

    def families(self, code: str) -> tuple[str, ...] | None:
        """The families of an ICD-9-CM procedure, canonical: several for a combination; None if the map lacks it."""
        bare = split(code)[1]
        if bare not in self.alternatives:
            return None
        return tuple(dict.fromkeys(self._family(bare, codes) for codes in self.alternatives[bare]))

    def _family(self, bare: str, codes: Codes) -> str:
        """The family of one set of alternatives."""
        widest = max(self._alike(bare, codes), key=lambda other: (len(other), sorted(other)))
        listed = {code for code in widest if under(code, System.ICD10PCS)} or widest
        found = family(self._start(code, widest) for code in listed)
        if found.count("+") < _MOST_GROUPS and len(found) <= _LONGEST:
            return found
        return _by_operation(listed)

    def _alike(self, bare: str, codes: Codes) -> Iterator[Codes]:
        """These alternatives and those of the category that hold them all, with the same first characters."""
        yield codes
        parts = {code[:_APPROACH] for code in codes}
        for other in self._categories[bare[:2]]:
            if codes < other and {code[:_APPROACH] for code in other} == parts:
                yield other

    def _start(self, code: str, own: Codes) -> str:
        """The shortest beginning of a code under which the map has no codes but these; one with listed codes."""
        start = next(code[:length] for length in range(_PART, 8) if self._under[code[:length]] <= own)
        while len(start) > 3 and not under(start, System.ICD10PCS):
            start = start[:-1]
        return start

    @cached_property
    def _under(self) -> Mapping[str, set[str]]:
        """The codes of the map with each beginning."""
        found: dict[str, set[str]] = defaultdict(set)
        for code in {code for sets in self.alternatives.values() for codes in sets for code in codes}:
            for length in range(_PART, 8):
                found[code[:length]].add(code)
        return found

    @cached_property
    def _categories(self) -> Mapping[str, list[Codes]]:
        found: dict[str, list[Codes]] = defaultdict(list)
        for bare, sets in self.alternatives.items():
            if len(sets) == 1:
                found[bare[:2]].append(sets[0])
        return found


def _by_operation(codes: Iterable[str]) -> str:
    """One pattern for each root operation, of those with the most codes."""
    tables: dict[str, list[str]] = defaultdict(list)
    for code in codes:
        tables[code[:3]].append(code)
    by_size = sorted(tables, key=lambda table: (-len(tables[table]), table))
    for most in range(_MOST_GROUPS, 0, -1):
        found = joined(hull(tables[table]) for table in by_size[:most])
        if len(found) <= _LONGEST:
            break
    return found


def _sets(rows: Iterable[tuple[str, str]]) -> tuple[Codes, ...]:
    """The alternatives; of a combination, one set for each of its choice lists."""
    real = [(target, flags) for target, flags in rows if flags[1] == "0"]
    single = frozenset(target for target, flags in real if flags[2] == "0")
    if single:
        return (single,)
    lists: dict[str, set[str]] = defaultdict(set)
    for target, flags in real:
        lists[flags[4]].add(target)
    return tuple(frozenset(lists[place]) for place in sorted(lists))


def _rows(file: Path) -> Iterator[tuple[str, str, str]]:
    """Source, target and flags of each line of a map; none of a file that is not one."""
    if ".csv" in file.suffixes:
        yield from _csv_rows(file)
    elif file.suffix == ".txt" and "gem" in file.name.lower():
        for number, line in enumerate(_text(file).splitlines(), 1):
            fields = line.split()
            if fields:
                yield _checked(fields, file, number)


def _csv_rows(file: Path) -> Iterator[tuple[str, str, str]]:
    reader = csv.DictReader(_text(file).splitlines())
    names = ("icd9pcs", "icd10pcs", "flags")
    if set(names) <= set(reader.fieldnames or ()):
        for number, row in enumerate(reader, 2):
            yield _checked([row[name] for name in names], file, number)


def _checked(fields: list[str], file: Path, number: int) -> tuple[str, str, str]:
    if len(fields) != 3 or len(fields[2]) != 5 or not fields[2].isdigit():
        raise CohortError(f"{file.name}, line {number}: not a code, its target and five digits.")
    source, target, flags = fields
    return source, target, flags


def _text(file: Path) -> str:
    data = file.read_bytes()
    return (gzip.decompress(data) if file.suffix == ".gz" else data).decode("latin-1")


Translation = Mapping[str, tuple[str, ...]]  # the procedure → its families


def read_maps(options: SourceOptions) -> PcsMap | None:
    """The maps that the procedures are to be translated by; None if they are not."""
    if options.answer_in != "icd10pcs":
        if options.maps is not None:
            raise CohortError(
                "Maps of procedures are read only to answer in icd10pcs: say so, or leave them out."
            )
        return None
    if options.maps is None:
        raise CohortError(
            "To translate procedures into ICD-10-PCS, name the folder with CMS's maps (gem_i9pcs.txt) with --maps."
        )
    path = Path(options.maps)
    if not path.exists():
        raise CohortError(f"There are no maps of procedures at {path}.")
    return PcsMap.read(path)


def translate(verdicts: Verdicts, maps: PcsMap) -> tuple[Verdicts, Translation]:
    """The verdicts, with procedures that the maps cannot translate rejected; the families of the others; a note."""
    found: dict[str, tuple[str, ...]] = {}
    items = []
    for verdict in verdicts.items:
        code = verdict.code
        if code is None or split(code)[0] is not System.ICD9PCS:
            items.append(verdict)
            continue
        families = maps.families(code)
        if families:
            found[code] = families
            items.append(verdict)
        else:
            items.append(replace(verdict, code=None, reason=NOT_IN_MAP if families is None else NO_PCS))
    translated = replace(verdicts, items=tuple(items))
    return replace(translated, notes=(*verdicts.notes, _note(translated, found))), found


def _note(verdicts: Verdicts, found: Translation) -> str:
    entries = sum(v.written.entries for v in verdicts.items if v.code in found)
    several = sum(len(families) > 1 for families in found.values())
    families = {one for families in found.values() for one in families}
    return (
        f"Translated: {counted(entries, 'entry', 'entries')} of {counted(len(found), 'ICD-9-CM procedure')} became "
        f"{counted(len(families), 'family', 'families')} of ICD-10-PCS codes; {several} of the procedures stand for "
        "several families together."
    )
