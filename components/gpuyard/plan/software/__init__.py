"""Versions of the software of a platform: pins, support, vulnerabilities."""
