"""Tables of codes, kinds, reading and writing, expressions: the ground floor."""
