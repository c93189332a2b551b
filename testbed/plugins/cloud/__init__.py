"""Fake `aws` and `gcp` providers for the real engine, and the cloud behind them."""
