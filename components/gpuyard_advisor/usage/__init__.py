"""What a Prometheus export shows: samples, hourly values, defects and the forecast of the next week."""
