"""What is switched off: by who would deploy it, by a chart around it, or by what its folder is called."""
