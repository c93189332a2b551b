"""The chart app-template of bjw-s: values that describe anybody's pods, and what it makes of them."""
