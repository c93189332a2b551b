"""Classification of a job: training, inference, notebook or batch, and what follows from it."""
