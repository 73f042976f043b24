"""What the HTML files of a report share."""
