"""What the plan takes from a machine inventory, and where the stack file disagrees with it."""
