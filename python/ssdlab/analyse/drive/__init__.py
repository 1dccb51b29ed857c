"""Real drives: whether one may be measured, fio, and what reading a page takes. Nothing else touches one."""
