from toolbar import press_all, toolbar

COMMANDS = {
    "open_file": lambda target: f"opened {target}",
    "close": lambda target: f"closed {target}",
}


def test_labels():
    assert [button.label for button in toolbar(COMMANDS, "a")] == ["Open file", "Close"]


def test_each_button_runs_its_own_command():
    assert press_all(toolbar(COMMANDS, "a.txt")) == ["opened a.txt", "closed a.txt"]


def test_a_single_button():
    (button,) = toolbar({"beep": lambda target: "beep"}, "")
    assert button.press() == "beep"


def test_nothing_is_run_before_a_press():
    run = []
    toolbar({"a": run.append}, "x")
    assert run == []
