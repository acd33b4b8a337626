from ci.reference import missing


def test_a_name_that_the_page_does_not_have_is_missing(monkeypatch):
    names = {"hidet.randn": {"hidet.graph.randn"}, "hidet.ops.relu": {"hidet.ops.relu"}}
    monkeypatch.setattr("ci.reference.public_names", lambda: names)
    page, other = '<h4 id="hidet.graph.randn">', "<h4>Operators</h4>"
    assert missing([page, other]) == ["hidet.ops.relu"]
    assert not missing([page, '<h4 id="hidet.ops.relu">'])
