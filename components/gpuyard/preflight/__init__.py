"""What an account is asked before anything is spent, and what its answers mean for a plan."""
