"""Rules on admission: requirements on the pods of teams."""
