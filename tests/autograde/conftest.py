"""Makes `small_course`, beside this file, importable from the folders below."""
