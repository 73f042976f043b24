"""The page of trends: boards and models over time."""
