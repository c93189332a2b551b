"""Requirements of admission as the API server holds them: CEL, and the objects that carry it."""
