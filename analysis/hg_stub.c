typedef int hg_empty;
