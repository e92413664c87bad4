"""What algorithms cost and tolerate: measured figures beside the formulas of the papers."""
