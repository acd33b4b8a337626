"""What both languages share: names, signs of indices, sharing of values, the C++ in between."""
