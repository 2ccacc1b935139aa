import csv
import io

from csv_row import row


def test_every_quote_of_a_field_is_doubled():
    assert row(['say "yes" or "no"']) == '"say ""yes"" or ""no"""'


def test_what_is_written_can_be_read():
    values = ['"', '""', 'a "b", c', "two\nlines"]
    assert next(csv.reader(io.StringIO(row(values), newline=""))) == values
