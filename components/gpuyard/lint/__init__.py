"""Reads other people's files into resources that rules can look at; nothing here knows a rule."""
