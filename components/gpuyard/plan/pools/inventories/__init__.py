"""What a dump of a machine of your own tells the plan, and where the stack file says otherwise."""
