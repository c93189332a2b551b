"""Files, and texts inside them, that are not YAML: settings of Bottlerocket, HCL of Terraform."""
