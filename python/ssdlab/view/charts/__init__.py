"""Charts of the results as data, with one module for each subject."""
