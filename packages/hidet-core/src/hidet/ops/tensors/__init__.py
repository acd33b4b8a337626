"""Creation and layout: tensors made, viewed, cut, joined, padded and converted."""
