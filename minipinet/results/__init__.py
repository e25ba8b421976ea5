"""What a results store says: statistics, tables beside the published numbers, figures."""
