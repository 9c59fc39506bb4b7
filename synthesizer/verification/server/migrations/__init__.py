"""Steps from the tables of one version of the server to those of the next, by Alembic.

A change of `server_tables` gets a file in ``versions``; a test compares
what the steps make with the tables, their CHECKs and triggers included.
"""
