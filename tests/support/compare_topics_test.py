"""The comparer must find every kind of difference: a comparer that finds nothing would prove nothing."""

import contextlib
import io
import unittest

import compare_topics
from compare_topics import PartitionReport, compare_committed, compare_ends, compare_uncommitted, print_report, same_timestamp_type, shown
from log_reader import Ends, Record

LOG = [
    Record(3, b"a", b"1", (), 1000, "CreateTime"),
    Record(4, None, b"2", (("h", b"x"), ("h", None)), 1001, "CreateTime"),
    Record(7, b"", None, (("g", b""), ("h", b"x")), 1002, "CreateTime"),
    Record(8, b"c", b"", (), 1003, "CreateTime"),
]


def changed(at: int, **fields: object) -> list[Record]:
    """LOG with one record changed."""
    return [record._replace(**fields) if record.offset == at else record for record in LOG]


def without(offset: int) -> list[Record]:
    """LOG with one record missing."""
    return [record for record in LOG if record.offset != offset]


class UncommittedTest(unittest.TestCase):
    """What read_uncommitted readers see."""

    def found(self, source: list[Record], destination: list[Record]) -> list[tuple]:
        """Field, offset and both values of each difference."""
        report = PartitionReport("t", 0)
        compare_uncommitted(source, destination, report)
        self.assertEqual(report.difference_count, len(report.differences))
        self.assertTrue(all(d.isolation == "read_uncommitted" for d in report.differences))
        return [(d.field, d.offset, d.source, d.destination) for d in report.differences]

    def test_equal_logs_have_no_difference_and_are_counted(self) -> None:
        report = PartitionReport("t", 0)
        self.assertEqual(compare_uncommitted(LOG, list(LOG), report), set())
        self.assertEqual((report.records, report.difference_count), (4, 0))

    def test_empty_logs_are_equal(self) -> None:
        self.assertEqual(self.found([], []), [])

    def test_missing_record(self) -> None:
        for offset in (3, 4, 8):  # first, middle, last
            with self.subTest(offset):
                self.assertEqual(self.found(LOG, without(offset)), [("record", offset, "present", "missing")])

    def test_extra_record(self) -> None:
        for offset in (3, 4, 8):
            with self.subTest(offset):
                self.assertEqual(self.found(without(offset), LOG), [("record", offset, "missing", "present")])

    def test_record_at_another_offset_is_missing_here_and_extra_there(self) -> None:
        moved = changed(8, offset=9)
        self.assertEqual(self.found(LOG, moved), [("record", 8, "present", "missing"), ("record", 9, "missing", "present")])

    def test_one_empty_side(self) -> None:
        self.assertEqual(len(self.found(LOG, [])), 4)
        self.assertEqual(len(self.found([], LOG)), 4)

    def test_key_and_value(self) -> None:
        self.assertEqual(self.found(LOG, changed(3, key=b"b")), [("key", 3, b"a", b"b")])
        self.assertEqual(self.found(LOG, changed(3, value=b"9")), [("value", 3, b"1", b"9")])

    def test_null_is_not_empty(self) -> None:
        self.assertEqual(self.found(LOG, changed(4, key=b"")), [("key", 4, None, b"")])
        self.assertEqual(self.found(LOG, changed(7, key=None)), [("key", 7, b"", None)])
        self.assertEqual(self.found(LOG, changed(7, value=b"")), [("value", 7, None, b"")])
        self.assertEqual(self.found(LOG, changed(8, value=None)), [("value", 8, b"", None)])
        self.assertEqual([f[0] for f in self.found(LOG, changed(4, headers=(("h", b"x"), ("h", b""))))], ["headers"])

    def test_header_order_count_and_name(self) -> None:
        for headers in ((("h", None), ("h", b"x")), (("h", b"x"),), (("h", b"x"), ("i", None)), ()):
            with self.subTest(headers):
                self.assertEqual([f[:2] for f in self.found(LOG, changed(4, headers=headers))], [("headers", 4)])

    def test_timestamp(self) -> None:
        self.assertEqual(self.found(LOG, changed(7, timestamp=1003)), [("timestamp", 7, 1002, 1003)])

    def test_timestamp_type_matters_where_the_copy_would_lose_the_records_own_time(self) -> None:
        self.assertEqual(self.found(LOG, changed(7, timestamp_type="LogAppendTime")), [("timestamp type", 7, "CreateTime", "LogAppendTime")])
        self.assertEqual(self.found(changed(7, timestamp_type="LogAppendTime"), LOG), [])
        self.assertFalse(same_timestamp_type("none", "LogAppendTime"))
        self.assertFalse(same_timestamp_type("CreateTime", "none"))

    def test_no_timestamp_is_the_time_minus_one(self) -> None:
        none = changed(7, timestamp=-1, timestamp_type="none")
        self.assertEqual(self.found(none, changed(7, timestamp=-1)), [])
        self.assertEqual(self.found(none, changed(7, timestamp=0)), [("timestamp", 7, -1, 0)])

    def test_several_differences_of_one_record(self) -> None:
        self.assertEqual([f[0] for f in self.found(LOG, changed(3, key=None, timestamp=5))], ["key", "timestamp"])

    def test_only_the_first_differences_are_kept_but_all_are_counted(self) -> None:
        report = PartitionReport("t", 0)
        many = [LOG[0]._replace(offset=offset) for offset in range(100)]
        compare_uncommitted(many, [record._replace(value=b"?") for record in many], report)
        self.assertEqual((report.difference_count, len(report.differences)), (100, compare_topics.DIFFERENCES_KEPT))
        self.assertEqual(report.differences[0].offset, 0)


class CommittedTest(unittest.TestCase):
    """What read_committed readers see."""

    def report(self, source: list[Record], destination: list[Record], one_sided: set[int]) -> PartitionReport:
        report = PartitionReport("t", 0)
        compare_committed(source, destination, one_sided, report)
        return report

    def test_equal(self) -> None:
        report = self.report(LOG, list(LOG), set())
        self.assertEqual((report.committed, report.difference_count), (4, 0))

    def test_transaction_outcome(self) -> None:
        aborted_there = self.report(LOG, without(7), set()).differences
        self.assertEqual([(d.field, d.offset, d.source, d.destination) for d in aborted_there], [("outcome", 7, "committed", "not committed")])
        aborted_here = self.report(without(7), LOG, set()).differences
        self.assertEqual([(d.field, d.offset, d.source, d.destination) for d in aborted_here], [("outcome", 7, "not committed", "committed")])

    def test_a_record_known_to_be_missing_is_not_reported_again(self) -> None:
        self.assertEqual(self.report(LOG, without(7), {7}).difference_count, 0)

    def test_content_is_compared_too(self) -> None:
        self.assertEqual([d.field for d in self.report(LOG, changed(4, value=b"?"), set()).differences], ["value"])


class EndsTest(unittest.TestCase):
    """Log start, LEO, LSO."""

    def test_each_end(self) -> None:
        ends = Ends(3, 9, 9)
        for field, name in (("start", "log start"), ("leo", "LEO"), ("lso", "LSO")):
            report = PartitionReport("t", 0)
            compare_ends(ends, ends._replace(**{field: 5}), report)
            self.assertEqual([(d.field, d.source, d.destination) for d in report.differences], [(name, getattr(ends, field), 5)])

    def test_equal_ends(self) -> None:
        report = PartitionReport("t", 0)
        compare_ends(Ends(3, 9, 8), Ends(3, 9, 8), report)
        self.assertEqual(report.difference_count, 0)


class FakeReader:
    """A log of crafted records; the isolation level decides what it shows."""

    def __init__(self, log: list[Record]) -> None:
        self._log = log

    def records(self, _topic: str, _partition: int, start: int, end: int):
        return (record for record in self._log if start <= record.offset < end)

    def close(self) -> None:
        pass


class WholeTest(unittest.TestCase):
    """The verdict and the table."""

    def compare(self, destination: list[Record], destination_ends: Ends) -> tuple[bool, str]:
        comparer = compare_topics.Comparer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, {"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
        comparer.close()
        comparer._readers = {level: (FakeReader(LOG), FakeReader(destination)) for level in compare_topics.ISOLATION_LEVELS}
        report = PartitionReport("t", 0)
        comparer._compare_partition(report, Ends(3, 9, 9), destination_ends)
        comparer.compare = lambda topic: iter([report])
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            equal = compare_topics.compare_and_print(comparer, ["t"])
        return equal, output.getvalue()

    def test_equal(self) -> None:
        equal, table = self.compare(list(LOG), Ends(3, 9, 9))
        self.assertTrue(equal)
        self.assertIn("4 records compared as read_uncommitted, 4 as read_committed; 1 partitions equal, 0 different", table)

    def test_one_difference_decides(self) -> None:
        equal, table = self.compare(changed(8, timestamp=7), Ends(3, 9, 9))
        self.assertFalse(equal)
        self.assertIn("DIFFERENT (2)", table)  # as both isolation levels
        self.assertIn("offset 8: timestamp: 1003 | 7 (read_uncommitted)", table)

    def test_other_ends_decide(self) -> None:
        equal, table = self.compare(list(LOG), Ends(3, 9, 8))
        self.assertFalse(equal)
        self.assertIn("LSO: 9 | 8", table)
        self.assertIn("outcome: 'committed' | 'not committed'", table)

    def test_nothing_compared_is_no_success(self) -> None:
        comparer = compare_topics.Comparer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, {"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
        with comparer, contextlib.redirect_stdout(io.StringIO()):
            self.assertFalse(compare_topics.compare_and_print(comparer, []))

    def test_long_values_are_cut(self) -> None:
        self.assertLess(len(shown(b"x" * 10_000)), 100)
        self.assertIn("10000 bytes", shown(b"x" * 10_000))
        self.assertEqual((shown(None), shown(b"")), ("null", "b''"))

    def test_a_partition_that_one_side_lacks_has_no_ends(self) -> None:
        report = PartitionReport("t", 1)
        report.add(compare_topics.Difference("partition", "present", "missing"))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            print_report(report)
        self.assertIn("- | -", output.getvalue())


if __name__ == "__main__":
    unittest.main()
