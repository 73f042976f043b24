"""The page of studies of models, beside the main page."""
