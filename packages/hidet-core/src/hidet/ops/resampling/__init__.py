"""Images of other sizes and boxes of them."""
