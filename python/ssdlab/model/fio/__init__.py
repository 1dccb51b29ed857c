"""Job files of fio as workloads: parsed, turned into requests, and reported in the JSON form of fio."""
