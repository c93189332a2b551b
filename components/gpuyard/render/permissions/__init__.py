"""The minimum permissions to deploy a platform: policies for AWS, roles for Google Cloud."""
