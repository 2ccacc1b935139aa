"""The `pytest` check: what is believed of a run, also of one whose code works against it."""

import py_compile
import sys
from pathlib import Path
from typing import Any

import pytest
from judged import MENDED, Files, Judging, written

from checkrein.contracts.verification import CheckStatus
from checkrein.errors import EnvironmentFault

NAMED: dict[str, Any] = {
    "fail_to_pass": ["tests/test_shop.py::test_price"],
    "pass_to_pass": ["tests/test_shop.py::test_kind"],
}

PATCHED = """\
import _pytest.runner

_made = _pytest.runner.TestReport.from_item_and_call


def _nice(item, call):
    report = _made(item, call)
    report.outcome, report.longrepr = "passed", None
    return report


_pytest.runner.TestReport.from_item_and_call = _nice
"""
_WRONG = "\n\ndef price():\n    return 1\n"

COUNT = "does not count"
FAILED = "test_price: failed"
SKIPPED = "test_price: was skipped"
THEIRS = "must be as they were"

HOSTILE: dict[str, tuple[str, Files]] = {
    "every report is patched to passed": (COUNT, {"shop.py": PATCHED + _WRONG}),
    "the process ends as if all were well": (COUNT, {"shop.py": "import os\nos._exit(0)\n"}),
    "it ends in the test": (COUNT, {"shop.py": "import os\n\n\ndef price():\n    os._exit(0)\n"}),
    "it ends with the status of a failing run": (COUNT, {"shop.py": "import os\nos._exit(1)\n"}),
    "it writes the report itself": (
        COUNT,
        {
            "shop.py": (
                "import os, sys\n"
                "mine = [a for a in sys.argv if a.startswith('--junit-xml=')]\n"
                "path = mine[0].partition('=')[2]\n"
                "open(path, 'w').write('<testsuite><testcase classname=\"tests.test_shop\" "
                'name="test_price"/><testcase classname="tests.test_shop" name="test_kind"/>'
                "</testsuite>')\nos._exit(1)\n"
            )
        },
    ),
    "it writes the report when all is over": (
        FAILED,
        {
            "shop.py": (
                "import atexit, re, sys\n"
                "mine = [a for a in sys.argv if a.startswith('--junit-xml=')]\n"
                "path = mine[0].partition('=')[2]\n"
                "def late():\n    text = open(path).read()\n"
                "    open(path, 'w').write(re.sub(r'<failure[^>]*>.*?</failure>', '', text, "
                "count=1, flags=re.S))\n"
                "atexit.register(late)\n" + _WRONG
            )
        },
    ),
    "assertions are taken away": (
        COUNT,
        {
            "shop.py": (
                "import unittest\nfrom _pytest import python\n"
                "python.Function.runtest = lambda self: None\n" + _WRONG
            )
        },
    ),
    "a conftest skips what fails": (
        THEIRS,
        {
            "conftest.py": (
                "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n"
                "    for item in items:\n        item.add_marker(pytest.mark.xfail)\n"
            )
        },
    ),
    "a conftest drops what fails": (
        THEIRS,
        {
            "tests/conftest.py": (
                "def pytest_collection_modifyitems(items):\n"
                "    items[:] = [i for i in items if i.name != 'test_price']\n"
            )
        },
    ),
    "an ini deselects it": (THEIRS, {"pytest.ini": "[pytest]\naddopts = -k kind\n"}),
    "a project file only collects": (
        THEIRS,
        {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--collect-only"\n'},
    ),
    "setup.cfg loads a plugin": (
        THEIRS,
        {
            "setup.cfg": "[tool:pytest]\naddopts = -p evil\n",
            "evil.py": "import os\nos._exit(0)\n",
        },
    ),
    "the named tests are others": (
        THEIRS,
        {"tests/test_shop.py": "def test_price():\n    pass\n\n\ndef test_kind():\n    pass\n"},
    ),
    "a named test is skipped": (
        SKIPPED,
        {"shop.py": "import pytest\n\n\ndef price():\n    pytest.skip('not today')\n"},
    ),
    "a named test is an expected failure": (
        SKIPPED,
        {"shop.py": "import pytest\n\n\ndef price():\n    pytest.xfail('known')\n"},
    ),
    "pytest is another one": (
        FAILED,
        {
            "pytest.py": "import os\nos._exit(0)\n",
            "_pytest/__init__.py": "import os\nos._exit(0)\n",
        },
    ),
    "Python starts otherwise": (
        FAILED,
        {
            "sitecustomize.py": "import os\nos._exit(0)\n",
            "usercustomize.py": "import os\nos._exit(0)\n",
        },
    ),
}
"""What a candidate does, and a part of what is said of it."""

IN_PROCESS = [trick for trick, (said, _) in HOSTILE.items() if said == COUNT]


@pytest.mark.shows(205, 210)
@pytest.mark.parametrize("named", [NAMED, {}], ids=["named", "all"])
async def test_what_is_mended_passes(judging: Judging, named: dict[str, Any]) -> None:
    """Protects honest work: a pass, with what was counted and everything kept for people."""
    result = await judging.result({"pytest": {"paths": ["tests"], **named}}, MENDED)
    assert (result.status, result.gap, result.exit_code) == (CheckStatus.PASS, "", 0)
    assert (result.measured["passed"], result.measured.get("failed", 0)) == (2, 0)
    assert "--- report ---\n<?xml" in await judging.evidence(result)
    assert result.name == "pytest tests"


@pytest.mark.shows(212)
async def test_a_failure_is_told_by_its_line_and_no_more(judging: Judging) -> None:
    """Protects repair: which test, what it asserted, where; no log, no folder of ours."""
    result = await judging.result({"pytest": NAMED})
    assert (result.status, result.exit_code, result.repairable) == (CheckStatus.FAIL, 1, True)
    assert result.gap.splitlines() == [
        "1 of 2 tests that count did not pass:",
        "- tests/test_shop.py::test_price: failed",
        "    E       assert 1 == 2",
        "    E        +  where 1 = price()",
        "    tests/test_shop.py:5: AssertionError",
    ]
    assert str(judging.folder) not in result.gap


@pytest.mark.shows(205, 210)
@pytest.mark.parametrize("trick", HOSTILE)
async def test_no_trick_of_the_candidate_passes(judging: Judging, trick: str) -> None:
    """Protects verdicts: the code under test shares the process and still decides nothing."""
    said, changed = HOSTILE[trick]
    result = await judging.result({"pytest": {"paths": ["tests"], **NAMED}}, changed)
    assert result.status is CheckStatus.FAIL
    assert said in result.gap


@pytest.mark.parametrize("trick", IN_PROCESS)
async def test_nor_where_no_test_is_named(judging: Judging, trick: str) -> None:
    """Protects the whole run: the control tells on what would make all of it pass."""
    said, changed = HOSTILE[trick]
    result = await judging.result({"pytest": {}}, changed)
    assert result.status is CheckStatus.FAIL
    assert said in result.gap


async def test_no_end_is_no_pass(judging: Judging) -> None:
    """Protects against waiting for ever."""
    hangs = {"shop.py": "import time\ntime.sleep(600)\n"}
    result = await judging.result({"pytest": {"timeout_s": 5}}, hangs)
    assert (result.status, result.gap) == (
        CheckStatus.FAIL,
        "The tests: no end within its time of 5 s.",
    )


async def test_only_skipped_is_no_pass(judging: Judging) -> None:
    """Protects against silence: at least one test must really have run."""
    skips = {"tests/test_shop.py": "import pytest\npytest.skip('all', allow_module_level=True)\n"}
    result = await judging.result({"pytest": {}}, skips)
    assert (result.status, result.gap) == (
        CheckStatus.FAIL,
        "No test ran. At least one must.",
    )


async def test_no_test_is_no_pass(judging: Judging) -> None:
    """Protects against silence: an empty folder proves nothing."""
    (judging.project / "tests" / "test_shop.py").unlink()
    result = await judging.result({"pytest": {"paths": ["tests"]}}, MENDED)
    assert (result.status, result.gap) == (CheckStatus.FAIL, "No test ran. At least one must.")


async def test_a_named_test_that_is_not_there_fails(judging: Judging) -> None:
    """Protects against tests that are removed: what was not reported has not passed."""
    gone = {"pytest": {"fail_to_pass": ["tests/test_shop.py::test_other"]}}
    result = await judging.result(gone, MENDED)
    assert result.gap.endswith("- tests/test_shop.py::test_other: was not run")


async def test_a_project_keeps_its_own_settings(judging: Judging) -> None:
    """Protects ordinary projects: conftest, ini, src layout and options of theirs still hold."""
    project: Files = {
        "pyproject.toml": (
            '[project]\nname = "shop"\n[tool.pytest.ini_options]\n'
            'pythonpath = ["src"]\naddopts = "-x --tb=no -q"\nmarkers = ["slow: slow"]\n'
        ),
        "src/shop.py": "def price():\n    return 2\n",
        "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n",
        "tests/test_shop.py": (
            "import pytest\nfrom shop import price\n\n\n"
            "@pytest.mark.parametrize('n', [1, 2])\ndef test_price(n, two):\n"
            "    assert price() == two\n\n\ndef test_wrong():\n    assert False\n"
        ),
    }
    (judging.project / "shop.py").unlink()
    written(judging.project, project)
    dependency = project["pyproject.toml"].replace('"shop"', '"shop"\ndependencies = ["x"]')
    check = {"pytest": {"fail_to_pass": ["tests/test_shop.py::test_price"]}}
    result = await judging.result(check, {"pyproject.toml": dependency})
    assert (result.status, result.gap) == (CheckStatus.PASS, "")
    assert result.measured == {"passed": 2, "failed": 1}


async def test_what_lies_above_the_copy_steers_nothing(judging: Judging) -> None:
    """Protects against what other processes left in the temporary folder."""
    above: Files = {
        "conftest.py": "import os\nos._exit(0)\n",
        "pytest.ini": "[pytest]\naddopts = --collect-only\n",
    }
    written(judging.folder / "verify", above)
    check = {"pytest": {"paths": ["tests"]}}
    assert (await judging.result(check, MENDED)).status is CheckStatus.PASS


async def test_planted_bytecode_is_not_run(judging: Judging) -> None:
    """Protects unchanged helpers: a compiled file beside them does not take their place."""
    helper = {"tests/helper.py": "def check(value):\n    assert value == 2\n"}
    uses = "import shop, helper\n\n\ndef test_price():\n    helper.check(shop.price())\n"
    written(judging.project, {**helper, "tests/test_shop.py": uses})
    planted = judging.project / "tests" / "__pycache__"
    planted.mkdir()
    source = judging.folder / "lie.py"
    source.write_text("def check(value):\n    pass\n")
    import_tag = f"helper.{sys.implementation.cache_tag}.pyc"
    _compile_unchecked(source, planted / import_tag)
    check = {"pytest": {"fail_to_pass": ["tests/test_shop.py::test_price"]}}
    assert (await judging.result(check)).status is CheckStatus.FAIL


def _compile_unchecked(source: Path, target: Path) -> None:
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(source), cfile=str(target), invalidation_mode=mode)


async def test_what_is_not_installed_is_the_machines_fault(judging: Judging) -> None:
    """Protects the model: it is not asked to repair what only a person can install."""
    with pytest.raises(EnvironmentFault, match="no_such_plugin is not installed"):
        await judging.result({"pytest": {"plugins": ["no_such_plugin.deep"]}}, MENDED)


async def test_a_named_plugin_is_loaded(judging: Judging) -> None:
    """Protects projects that need one: it is named, and no other is."""
    asks = "import pytest\n\n\n@pytest.mark.asyncio\nasync def test_price():\n    assert True\n"
    written(judging.project, {"tests/test_shop.py": asks})
    check = {"pytest": {"paths": ["tests"], "plugins": ["pytest_asyncio.plugin"]}}
    assert (await judging.result(check)).measured == {"passed": 1}
