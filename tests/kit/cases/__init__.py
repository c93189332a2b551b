"""Cases that several folders of tests share."""
