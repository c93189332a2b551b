"""Cloud resources as plain values: `graph` is the data model for every cloud."""
