from xml.etree import ElementTree

from hidet.mapping import draw, draw_svg, predicated, repeat, row_major, spatial


def test_a_mapping_as_text():
    assert draw(spatial(2, 2) * repeat(1, 2)) == "0:0  0:1  1:0  1:1\n2:0  2:1  3:0  3:1"
    assert spatial(3).draw() == "0  1  2"
    assert predicated(spatial(4), shape=(3,)).draw() == "0  1  2"


def test_a_layout_as_text_and_slices_above_two_dimensions():
    assert row_major(2, 3).draw() == "0  1  2\n3  4  5"
    assert spatial(2, 1, 2).draw() == "[0, :, :]\n0  1\n[1, :, :]\n2  3"


def test_the_picture_has_one_square_for_each_cell():
    root = ElementTree.fromstring(draw_svg(spatial(2, 3)))
    squares = [e for e in root if e.tag.endswith("rect")]
    assert len(squares) == 6
    assert len({square.get("fill") for square in squares}) == 6
