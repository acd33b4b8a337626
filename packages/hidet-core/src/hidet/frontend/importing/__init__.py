"""From a framework's operators to a graph: converters and what they share."""
