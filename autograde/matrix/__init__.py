"""Which property kills which mutant: the hidden tests, tested on solutions known to be right or wrong."""
