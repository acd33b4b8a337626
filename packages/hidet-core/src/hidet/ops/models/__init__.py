"""What models of one kind need: cells, trees, boxes, losses."""
