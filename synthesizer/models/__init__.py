"""One file per conditional model; each enters the registry through an entry point."""
