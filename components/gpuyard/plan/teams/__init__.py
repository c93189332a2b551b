"""Teams: namespaces, isolation, limits, access to the network, idle reclaim."""
