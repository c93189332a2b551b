"""Teams: namespaces, isolation, limits, network access and idle reclaim."""
