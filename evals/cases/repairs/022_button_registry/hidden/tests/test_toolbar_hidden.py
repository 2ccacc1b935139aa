from toolbar import press_all, toolbar


def test_three_commands():
    commands = {name: (lambda target, name=name: name + target) for name in "abc"}
    assert press_all(toolbar(commands, "!")) == ["a!", "b!", "c!"]


def test_a_press_runs_the_command_each_time():
    run = []
    (button, _) = toolbar({"a": lambda t: run.append(t) or t, "b": str}, "x")
    button.press()
    button.press()
    assert run == ["x", "x"]


def test_a_button_can_be_pressed_late():
    buttons = toolbar({"a": str.upper, "b": str.title, "c": str.swapcase}, "cAt")
    assert buttons[1].press() == "Cat"
    assert buttons[0].press() == "CAT"
