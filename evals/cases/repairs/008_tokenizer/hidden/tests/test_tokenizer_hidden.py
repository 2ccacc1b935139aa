from tokenizer import tokens


def test_three_strings_without_space():
    assert [t.text for t in tokens('"a""b""c"')] == ['"a"', '"b"', '"c"']


def test_an_empty_string_beside_another():
    assert [t.text for t in tokens('f("", "x")')] == ["f", "(", '""', ",", '"x"', ")"]


def test_a_comma_belongs_to_its_string():
    assert [t.text for t in tokens('"a, b" , "c"')] == ['"a, b"', ",", '"c"']
