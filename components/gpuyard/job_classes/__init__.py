"""Classes of jobs: the words, programs and shapes that indicate them, and their weights."""
