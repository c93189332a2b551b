"""The least that whoever deploys a platform must be allowed: documents for AWS, roles for Google."""
