from ci.reference import missing


def test_a_name_that_the_page_does_not_have_is_missing(monkeypatch):
    names = {"hidet.randn": {"hidet.graph.randn"}, "hidet.ops.relu": {"hidet.ops.relu"}}
    monkeypatch.setattr("ci.reference.public_names", lambda: names)
    assert missing('<h4 id="hidet.graph.randn">') == ["hidet.ops.relu"]
