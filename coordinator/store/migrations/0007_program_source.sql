-- The source of a program of one's own, by the digest of its files, from the first sweep that brought it.
CREATE TABLE program_source (
  digest TEXT PRIMARY KEY,                             -- SHA-256 of the program's files.
  program TEXT NOT NULL,                               -- Its name.
  commit_id TEXT NOT NULL,                             -- Last commit of its folder's git repository.
  diff TEXT NOT NULL                                   -- Its files against that commit.
) STRICT;
