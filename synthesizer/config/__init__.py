"""The YAML as typed objects, and the other spellings of it."""
