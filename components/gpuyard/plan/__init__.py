"""What a spec means: `platform.plan` derives every pool, quota, queue and price, or says why not."""
