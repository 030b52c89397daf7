"""Other ways to train the same model on the same text; each is a process that prints one line of JSON."""
