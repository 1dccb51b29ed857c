"""What figures show, one module for each subject."""
