"""What commands show: tables, trees, documents and paths of plans."""
