"""From what people tell to events: every check happens here, before anything is written."""
