"""Prices, the bill, budgets, commitments and who pays."""
