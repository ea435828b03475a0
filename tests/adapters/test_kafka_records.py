import struct

import pytest
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from factsieve.adapters.kafka_records import ForgivingRecords, accept_any_header_names

PLAIN, GZIP, LZ4 = 0, 1, 3


def batch(base, records, codec=PLAIN, spoil=None):
    """Return one record batch; `spoil` (old, new) replaces bytes of the records before compression and checksum."""
    builder = DefaultRecordBatchBuilder(2, codec if spoil is None else PLAIN, 0, -1, -1, -1, 1_000_000)
    for number, (key, value, headers) in enumerate(records):
        builder.append(number, timestamp=1_000 + number, key=key, value=value, headers=headers)
    data = bytearray(builder.build())
    if spoil is not None:
        old, new = spoil
        assert len(old) == len(new)
        assert old in data
        at = bytes(data).index(old)
        data[at : at + len(old)] = new
        struct.pack_into(">I", data, 17, calc_crc32c(bytes(data[21:])))
    struct.pack_into(">q", data, 0, base)
    return bytes(data)


def read(records):
    found = []
    while records.has_next():
        one = records.next_batch()
        assert one.validate_crc()
        found += [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in one]
    assert records.next_batch() is None
    return found


RECORDS = [
    (b"k0", b"v0", [("a", b"1"), ("a", None)]),
    (None, None, [("bad", b"\xff"), ("ü", b"")]),
    (b"", b"v2", []),
]


@pytest.mark.parametrize("codec", [PLAIN, GZIP, LZ4])
def test_ordinary_batches_read_the_same(codec):
    data = batch(0, RECORDS, codec) + batch(10, RECORDS, codec)
    assert read(ForgivingRecords(data)) == read(MemoryRecords(data))
    assert ForgivingRecords(data).size_in_bytes() == len(data)


def test_a_header_name_that_is_no_utf8_stops_the_client_and_not_us():
    """The other records of the batch, and those of the next batch, come as they are; keys and values are untouched."""
    data = batch(0, RECORDS, spoil=(b"bad", b"\xffad")) + batch(3, RECORDS)
    with pytest.raises((UnicodeDecodeError, CorruptRecordException)):
        read(MemoryRecords(data))
    found = read(ForgivingRecords(data))
    assert found[0] == (0, 1_000, b"k0", b"v0", [("a", b"1"), ("a", None)])
    assert found[1] == (1, 1_001, None, None, [("�ad", b"\xff"), ("ü", b"")])
    assert [offset for offset, *_ in found] == [0, 1, 2, 3, 4, 5]
    assert found[3:] == read(MemoryRecords(batch(3, RECORDS)))


def test_what_is_really_broken_stays_an_error():
    """A length that does not fit is no matter of encoding."""
    data = bytearray(batch(0, RECORDS))
    at = bytes(data).index(b"k0") - 1  # the length of the key, zigzag: 4
    data[at] = 200
    with pytest.raises(CorruptRecordException):
        read_unchecked(ForgivingRecords(bytes(data)))


def read_unchecked(records):
    while records.has_next():
        list(records.next_batch())


def test_part_of_a_batch_at_the_end_of_a_fetch_is_left_alone():
    data = batch(0, RECORDS)
    assert read(ForgivingRecords(data + data[:30])) == read(MemoryRecords(data))
    assert read(ForgivingRecords(b"")) == []


def test_consumers_of_this_process_read_that_way():
    accept_any_header_names()
    assert fetcher.MemoryRecords is ForgivingRecords
