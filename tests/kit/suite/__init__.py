"""How the suite itself runs: which live tests, dealt to whom."""
