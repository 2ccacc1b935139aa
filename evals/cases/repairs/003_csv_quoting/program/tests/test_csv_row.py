from csv_row import row, table


def test_plain_fields_stay_plain():
    assert row(["a", 1, None]) == "a,1,"


def test_a_comma_needs_quotes():
    assert row(["Berg, Anna", "x"]) == '"Berg, Anna",x'


def test_a_quote_is_doubled():
    assert row(['5" disk']) == '"5"" disk"'


def test_lines_end_in_cr_lf():
    assert table(["a"], [["b"]]) == "a\r\nb\r\n"
