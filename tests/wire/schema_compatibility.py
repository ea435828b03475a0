"""Whether a reader of one JSON Schema (draft-07) takes everything that a writer of another may write.

Knows the part of JSON Schema that `schemas/` uses, and refuses to judge anything else. A property that the writer does not name counts
as absent: unknown fields are ignored by agreement.
"""

_JUDGED = {
    "$schema", "$id", "title", "description", "type", "enum", "const", "required", "properties", "items", "oneOf", "not", "$ref",
    "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "pattern", "format",
}  # fmt: skip
_LOWER = ("minLength", "minimum", "minItems")
_UPPER = ("maxLength", "maximum", "maxItems")
_ALL = {"string", "number", "integer", "boolean", "null", "array", "object"}


class Schemas:
    """Schemas by `$id`, for references among them."""

    def __init__(self, by_id):
        self.by_id = by_id

    def resolve(self, schema):
        unknown = set(schema) - _JUDGED
        assert not unknown, f"the checker does not know {unknown}"
        return self.by_id[schema["$ref"]] if "$ref" in schema else schema


def breaks(writer, reader, writers, readers, path="$"):
    """Return what a reader refuses of what a writer may write, a sentence each; empty if nothing."""
    writer, reader = writers.resolve(writer), readers.resolve(reader)
    if "oneOf" in writer:
        branches = [{**{k: v for k, v in writer.items() if k != "oneOf"}, **branch} for branch in writer["oneOf"]]
        return [line for n, b in enumerate(branches) for line in breaks(b, reader, writers, readers, f"{path}|{n}")]
    if "oneOf" in reader:
        tries = [
            breaks(writer, {**{k: v for k, v in reader.items() if k != "oneOf"}, **b}, writers, readers, path)
            for b in reader["oneOf"]
        ]
        return min(tries, key=len)
    found = [*_values(writer, reader, path), *_bounds(writer, reader, path)]
    found += [f"{path}.{name} is required" for name in _missing(writer, reader)]
    if "not" in reader and writer.get("not") != reader["not"]:
        found.append(f"{path} may be what is read as forbidden: {reader['not']}")
    written = writer.get("properties", {})
    for name, schema in reader.get("properties", {}).items():
        if name in written:
            found += breaks(written[name], schema, writers, readers, f"{path}.{name}")
    if "items" in reader and "items" in writer:
        found += breaks(writer["items"], reader["items"], writers, readers, f"{path}[]")
    elif "items" in reader and "array" in _types(writer):
        found.append(f"{path} may hold items of any kind")
    return found


def _missing(writer, reader):
    return sorted(set(reader.get("required", [])) - set(writer.get("required", [])))


def _values(writer, reader, path):
    may, takes = _enumerated(writer), _enumerated(reader)
    if takes is not None:
        extra = "anything" if may is None else [value for value in may if value not in takes]
        if extra:
            yield f"{path} may be {extra}, read is {takes}"
        return
    kinds = {_kind(value) for value in may} if may is not None else _types(writer)
    taken = _types(reader)
    if "number" in taken:
        taken = taken | {"integer"}
    if kinds - taken:
        yield f"{path} may be of type {sorted(kinds - taken)}, read is {sorted(taken)}"


def _bounds(writer, reader, path):
    for names, worse in ((_LOWER, lambda w, r: w < r), (_UPPER, lambda w, r: w > r)):
        for name in names:
            if (
                name in reader
                and _enumerated(writer) is None
                and (name not in writer or worse(writer[name], reader[name]))
            ):
                yield f"{path} has {name} {writer.get(name)}, read is {reader[name]}"
    for name in ("pattern", "format"):
        if name in reader and _enumerated(writer) is None and writer.get(name) != reader[name]:
            yield f"{path} has {name} {writer.get(name)}, read is {reader[name]}"


def _enumerated(schema):
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _types(schema):
    kinds = schema.get("type", sorted(_ALL))
    return {kinds} if isinstance(kinds, str) else set(kinds)


def _kind(value):
    if value is None:
        return "null"
    return {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}[type(value)]
