"""Parts of particular models: recurrent cells, trees, boxes, losses; elements once each."""
