"""Labels beside the points of charts."""
