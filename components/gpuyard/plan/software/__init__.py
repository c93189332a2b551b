"""Software versions of a platform: pins, support, vulnerabilities."""
