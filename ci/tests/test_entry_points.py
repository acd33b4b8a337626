from ci.entry_points import main


def test_a_package_without_a_frontend_is_a_failure(capsys):
    assert main(["pytest"]) == 1
    assert "pytest: console_scripts pytest = " in capsys.readouterr().out
