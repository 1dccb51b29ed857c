"""fio job files as workloads: parses them, generates their requests, and reports results in fio's JSON format."""
