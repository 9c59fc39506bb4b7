"""Disclosure-risk measures: functions from tables to small frozen records."""
