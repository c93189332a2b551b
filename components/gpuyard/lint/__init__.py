"""Reads files of users into resources that rules check; contains no rule."""
