"""Second opinions of what our graphs would send: the clouds' own models, walked as closed schemas."""
